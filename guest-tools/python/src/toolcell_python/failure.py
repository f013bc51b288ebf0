"""How a program failed, in words, with the lines that it was at."""

import errno
import linecache
import traceback
from itertools import chain, groupby

from . import refusals

# The name of the program in tracebacks.
NAME = "code.py"

# Calls that a reader looks at, of which a line that calls itself is one; more are left out between the first and the last.
FRAMES = 16

# Modules of the library that are for what is not there, where a loop does the same.
PARALLEL = ("multiprocessing", "concurrent.futures.process", "concurrent.interpreters")

HINTS = {
    errno.EROFS: "not permitted: its folder is granted for reading only",
    errno.EPERM: "not permitted: it is withheld from tools, or leads out of the granted directories",
    errno.ENOTCAPABLE: "not permitted: it leads out of the granted directories",
    errno.EACCES: "the permissions of the file, or of a folder above it, do not allow it",
}


def words(error: BaseException) -> str:
    """The error as Python would print it, with the frames of the program alone."""
    if isinstance(error, SystemExit):
        return exited(error.code)
    note(error)
    try:
        shown = traceback.TracebackException(type(error), error, error.__traceback__, lookup_lines=False)
        narrow(shown, set())
        return "".join(shown.format()).rstrip()
    except MemoryError:
        return "MemoryError"


def exited(code: object) -> str:
    """Empty where the program says that it succeeded."""
    if code is None or code == 0:
        return ""
    return f"the program exited with code {int(code)}" if isinstance(code, int) else str(code)


def note(error: BaseException) -> None:
    """Adds what the author of the program cannot know."""
    hint = None
    if isinstance(error, SyntaxError) and error.filename == NAME and error.text is None and error.lineno:
        error.text = linecache.getline(NAME, error.lineno)
    match error:
        case OSError() if not refusals.is_ours(error):
            hint = HINTS.get(error.errno) if error.filename is not None else None
        case MemoryError():
            hint = "The memory of this tool is used up (`limits.memory`): work on less at once."
        case ModuleNotFoundError(name=str(name)) if name.startswith(PARALLEL):
            hint = refusals.THREAD.replace("threads", "threads and no other processes")
        case ModuleNotFoundError():
            hint = (
                "There are Python's standard library, without what needs a network, processes or a terminal, and the "
                "modules of the first granted directory. Nothing can be installed."
            )
        case SyntaxError() if "'return' outside" in str(error.msg):
            hint = "A program has no `return`: end it with the expression whose value you want."
    if hint and not getattr(error, "__notes__", None):
        error.add_note(hint)


def narrow(shown: traceback.TracebackException, seen: set[int]) -> None:
    if id(shown) in seen:
        return
    seen.add(id(shown))
    if shown.stack is not None:
        frames = [frame for frame in shown.stack if is_own(frame.filename)]
        calls = [list(call) for _, call in groupby(frames, lambda frame: (frame.filename, frame.lineno, frame.name))]
        if len(calls) > FRAMES:
            frames = list(chain(*calls[: FRAMES // 2], *calls[-FRAMES // 2 :]))
        shown.stack[:] = frames
        if not frames:
            shown.stack = None
    for other in (shown.__cause__, shown.__context__, *(shown.exceptions or ())):
        if other is not None:
            narrow(other, seen)


def is_own(name: str) -> bool:
    """Whether the program's author may have written it: the library lies where the component was built."""
    return refusals.is_granted(name) if name.startswith("/") else not name.startswith("<frozen ")
