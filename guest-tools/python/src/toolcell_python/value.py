"""Values of Python, as far as JSON has them."""

import array
import dataclasses
import datetime
import decimal
import enum
import fractions
import math
import pathlib
import uuid
from collections import deque
from collections.abc import Mapping, Set, ValuesView

# The largest number that every reader of JSON takes as it is.
EXACT = 2**53 - 1

# Readers of JSON have a bound too.
DEPTH = 100

LISTS = (list, tuple, deque, range, array.array, ValuesView)
TEXTS = (decimal.Decimal, fractions.Fraction, uuid.UUID, pathlib.PurePath)
TIMES = (datetime.datetime, datetime.date, datetime.time)


def plain(value: object, above: tuple[int, ...] = ()) -> object:
    """The value with what JSON cannot say in words: numbers that are too large, infinite or none as text, dates as ISO 8601
    has them, sets as lists, instances of data classes as objects, and anything else as Python shows it."""
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str:
        return text(value)
    if kind is int:
        return value if -EXACT <= value <= EXACT else str(value)
    if kind is float:
        return number(value)
    if isinstance(value, enum.Enum):
        return plain(value.value, above)
    if isinstance(value, (str, int, float)):
        # What derives from these, and may print otherwise.
        base = next(base for base in (str, int, float) if isinstance(value, base))
        return plain(base.__new__(base, value) if base is not str else str.__str__(value), above)
    if isinstance(value, TEXTS):
        return text(str(value))
    if isinstance(value, TIMES):
        return value.isoformat()
    if id(value) in above:
        raise ValueError("the value of the last expression contains itself, which JSON cannot say; print what you want of it")
    if len(above) >= DEPTH:
        raise ValueError(f"the value of the last expression is nested more than {DEPTH} deep; print what you want of it")
    within = (*above, id(value))
    if isinstance(value, Mapping):
        return members(value, within)
    if isinstance(value, LISTS):
        return [plain(item, within) for item in value]
    if isinstance(value, Set):
        return [plain(item, within) for item in ordered(value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name, None), within) for field in dataclasses.fields(value)}
    return text(repr(value))


def text(value: str) -> str:
    """Halves of surrogate pairs are no text."""
    if value.isascii():
        return value
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def members(value: Mapping, above: tuple[int, ...]) -> object:
    """An object, or a list of pairs where keys would be the same as texts."""
    pairs = [(named(key), key, item) for key, item in value.items()]
    if len({name for name, _, _ in pairs}) == len(pairs):
        return {name: plain(item, above) for name, _, item in pairs}
    return [[plain(key, above), plain(item, above)] for _, key, item in pairs]


def named(key: object) -> str:
    if isinstance(key, tuple):
        return text(repr(key))
    name = plain(key)
    return name if isinstance(name, str) else text(str(key))


def ordered(value: Set) -> list:
    try:
        return sorted(value)
    except TypeError:
        return list(value)
