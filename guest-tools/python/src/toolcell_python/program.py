"""One program, from its text to its value."""

import ast
import asyncio
import atexit
import contextlib
import gc
import inspect
import linecache
import logging
import os
import sys
import time
import types
from dataclasses import dataclass

from componentize_py_types import Err

from . import refusals
from .console import Lines, Stream
from .failure import NAME, words
from .state import State
from .value import plain

AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


@dataclass
class Answer:
    """What a program came to."""

    # Whether it ends with an expression.
    has_value: bool
    # The value, as far as JSON has it.
    value: object
    # What it printed, up to a bound.
    printed: str


def run(code: str, host) -> Answer:
    """Runs a program until nothing of it is left to be done.

    What the program did not catch is an `Err` with the words, and the place.
    """
    lines = Lines(host)
    state = State(host)
    main = begin(code, lines, host)
    main.state = state
    failed = None
    has_value, value = False, None
    try:
        parts = compiled(code)
        has_value = len(parts) == 2
        value = plain(valued(parts, vars(main)))
        state.keep()
    except BaseException as error:
        failed = words(error)
        has_value, value = False, None
    end(main, lines)
    if failed:
        raise Err(failed)
    return Answer(has_value, value, lines.kept())


def begin(code: str, lines: Lines, host) -> types.ModuleType:
    """Everything that is of this call alone."""
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = Stream(lines)
    sys.argv = [NAME]
    os.reload_environ()
    logging._startTime = time.time_ns()
    granted = host.directories()
    refusals.grant(granted)
    if granted:
        os.chdir(granted[0])
        sys.path.append(granted[0])
    source = code.splitlines(keepends=True)
    linecache.cache[NAME] = len(code), None, source, NAME
    main = types.ModuleType("__main__")
    main.__builtins__ = sys.modules["builtins"]
    sys.modules["__main__"] = main
    return main


def end(main: types.ModuleType, lines: Lines) -> None:
    """What an interpreter does when it ends: files that are still open get what was written to them."""
    try:
        atexit._run_exitfuncs()
        vars(main).clear()
        gc.collect()
    except BaseException as error:
        lines.write(f"{words(error)}\n")
    # A program may have put something of its own in front of it.
    with contextlib.suppress(Exception):
        if not isinstance(sys.stdout, Stream):
            sys.stdout.flush()
    lines.flush()


def compiled(code: str) -> list[types.CodeType]:
    """The statements, and if there is one behind them, the expression."""
    tree = compile(code, NAME, "exec", ast.PyCF_ONLY_AST | AWAIT)
    parts = [tree]
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        parts.append(ast.Expression(tree.body.pop().value))
    return [compile(part, NAME, "exec" if part is tree else "eval", AWAIT) for part in parts]


def valued(parts: list[types.CodeType], names: dict) -> object:
    if any(part.co_flags & inspect.CO_COROUTINE for part in parts):
        value = asyncio.run(awaited(parts, names))
    else:
        for part in parts:
            value = eval(part, names)
    return asyncio.run(value) if inspect.iscoroutine(value) else value


async def awaited(parts: list[types.CodeType], names: dict) -> object:
    for part in parts:
        value = eval(part, names)
        if part.co_flags & inspect.CO_COROUTINE:
            value = await value
    return value
