"""Refusals in words. The host refuses whatever it did not grant; this says so before, and as an exception of Python."""

import concurrent.futures
import errno
import os
import os.path
import subprocess
import sys
import threading

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

PROCESS = (
    "not permitted: this tool has no processes; files are read, changed and listed with open, pathlib, os and shutil, and "
    "another tool may run commands"
)

THREAD = "not permitted: this tool has no threads; call the function itself, or take map(function, items) for a pool"

OTHERS = {
    "_thread.start_new_thread": THREAD,
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
    os.system = _no_process
    # The library says of each of these something of its own, which tells no one what to do.
    os.popen = _no_process
    subprocess.Popen.__init__ = _no_process
    subprocess.Popen.__del__ = lambda self: None
    threading.Thread.start = _no_thread
    # An executor alone is no thread: loops of events take it, and run at once what is handed to it.
    concurrent.futures.ThreadPoolExecutor.submit = _no_thread
    # It would end the interpreter, with what was printed and is not given out yet.
    os._exit = _exit


def is_granted(path: str) -> bool:
    """Whether it lies in a granted directory, by its spelling."""
    return any(path == top or path.startswith(top.rstrip("/") + "/") for top in _granted or ())


def is_ours(error: OSError) -> bool:
    return str(error.strerror).startswith("not permitted")


def _no_process(*_, **__) -> None:
    raise PermissionError(errno.EPERM, PROCESS)


def _exit(status: int) -> None:
    raise SystemExit(status)


def _no_thread(*_, **__) -> None:
    raise PermissionError(errno.EPERM, THREAD)


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
