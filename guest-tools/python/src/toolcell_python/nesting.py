"""JSON that is nested too deeply, as an exception: the reader in C calls itself, and the stack of the call, which the host
bounds, is not seen by it."""

import json
import json.decoder
import re

# About half of the levels that the stack of a call holds: what has called before needs some of it.
LEVELS = 500

OTHERS = bytes(set(range(256)) - set(b"[]{}"))
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)

_decode = json.JSONDecoder.raw_decode


def _may_be_deep(text: str) -> bool:
    """Whether it may be nested too deeply, told by its brackets alone, those in strings included."""
    brackets = text.encode("utf-8", "replace").translate(None, OTHERS)
    for _ in range(LEVELS // 2):
        if len(brackets) <= LEVELS:
            return False
        left = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if len(left) == len(brackets):
            return True
        brackets = left
    return True


def _is_deep(text: str) -> bool:
    level = 0
    for token in TOKEN.finditer(text):
        match token[0]:
            case "[" | "{":
                level += 1
                if level > LEVELS:
                    return True
            case "]" | "}":
                level -= 1
    return False


def _raw_decode(self: json.JSONDecoder, s: str, idx: int = 0) -> tuple:
    if len(s) > LEVELS and _may_be_deep(s) and _is_deep(s):
        raise RecursionError(f"JSON is nested more than {LEVELS} deep")
    return _decode(self, s, idx)


def install() -> None:
    json.JSONDecoder.raw_decode = _raw_decode
