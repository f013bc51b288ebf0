"""Refusals in words. The host refuses whatever it did not grant; this says so before, and as an exception of Python."""

import errno
import os
import os.path
import sys

# Operations on files, and how many paths they begin with.
PATHS = {
    "open": 1,
    "os.chdir": 1,
    "os.link": 2,
    "os.listdir": 1,
    "os.mkdir": 1,
    "os.remove": 1,
    "os.rename": 2,
    "os.rmdir": 1,
    "os.scandir": 1,
    "os.truncate": 1,
    "os.utime": 1,
}

PROCESS = "not permitted: this tool has no processes"

OTHERS = {
    "_thread.start_new_thread": "not permitted: this tool has no threads; call the function itself",
    "os.exec": PROCESS,
    "os.fork": PROCESS,
    "os.posix_spawn": PROCESS,
    "os.spawn": PROCESS,
    "os.system": PROCESS,
    "subprocess.Popen": PROCESS,
}

# The granted directories by the names that the program knows; none while the component is built.
_granted: list[str] | None = None


def grant(directories: list[str]) -> None:
    global _granted
    _granted = directories


def install() -> None:
    sys.addaudithook(_look)
    os.system = _system


def is_granted(path: str) -> bool:
    """Whether it lies in a granted directory, by its spelling."""
    return any(path == top or path.startswith(top.rstrip("/") + "/") for top in _granted or ())


def is_ours(error: OSError) -> bool:
    return str(error.strerror).startswith("not permitted")


def _system(command: str) -> int:
    raise PermissionError(errno.EPERM, PROCESS)


def _look(event: str, arguments: tuple) -> None:
    if _granted is None:
        return
    if count := PATHS.get(event):
        for path in arguments[:count]:
            _check(path)
    elif words := OTHERS.get(event):
        raise PermissionError(errno.EPERM, words)
    elif event.startswith("socket."):
        raise PermissionError(errno.EPERM, "not permitted: this tool has no network")


def _check(path: object) -> None:
    if isinstance(path, int) or path is None:
        return
    shown = os.fsdecode(path)
    # By its spelling, as a path that the host is never asked for: that alone knows where the others lead.
    whole = os.path.join(os.getcwd(), shown)
    if is_granted(whole):
        return
    names = ", ".join(_granted or ())
    where = f"outside of the granted directories ({names})" if names else "no directory is granted to this tool"
    raise PermissionError(errno.EPERM, f"not permitted, {where}", shown)
