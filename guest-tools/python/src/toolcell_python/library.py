"""What programs find: everything that can be imported is imported while the component is built, for its files are not there
afterwards."""

import ast
import functools
import importlib
import importlib.resources
import inspect
import io
import pkgutil
import sys
import zoneinfo
import zoneinfo._common

from . import loop

# Modules that are of no use here, since they need a network, processes, a terminal, or files of the library.
LEFT_OUT = {
    "__main__", "antigravity", "compileall", "curses", "ensurepip", "ftplib", "idlelib", "imaplib", "lib2to3", "mailbox",
    "modulefinder", "multiprocessing", "pdb", "poplib", "py_compile", "pyclbr", "pydoc_data", "smtplib", "socketserver",
    "tabnanny", "test", "this", "tkinter", "trace", "turtle", "turtledemo", "venv", "webbrowser", "wsgiref", "xmlrpc", "zipapp",
}  # fmt: skip

# What the library imports only when it is needed.
INNER = {"_compat_pickle", "_markupbase", "_pylong", "_strptime", "_threading_local"}

# The same of packages.
PARTS_LEFT_OUT = {
    "asyncio.__main__", "asyncio.tools", "asyncio.windows_events", "asyncio.windows_utils", "concurrent.futures.process",
    "concurrent.interpreters", "encodings.mbcs", "encodings.oem", "http.server", "logging.config", "unittest.__main__",
}  # fmt: skip


def load() -> None:
    for name in sorted(sys.stdlib_module_names - LEFT_OUT):
        if not name.startswith("_") or name in INNER:
            whole(name)
    zones()
    memoise()
    loop.install()


def whole(name: str) -> None:
    """Imports a module with all that is in it. What this interpreter was built without is not there."""
    try:
        module = importlib.import_module(name)
    except ImportError:
        return
    for part in pkgutil.iter_modules(getattr(module, "__path__", ())):
        below = f"{name}.{part.name}"
        if below not in PARTS_LEFT_OUT and part.name not in ("__main__", "test", "tests"):
            whole(below)


def zones() -> None:
    """The time zones of the package `tzdata`, which lie in files."""
    package = importlib.resources.files("tzdata")
    names = package.joinpath("zones").read_text("utf-8").split()
    known = {name: package.joinpath("zoneinfo", *name.split("/")).read_bytes() for name in names}

    def load_tzdata(key: str) -> io.BytesIO:
        if key not in known:
            raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}")
        return io.BytesIO(known[key])

    zoneinfo._common.load_tzdata = load_tzdata
    zoneinfo._zoneinfo._common.load_tzdata = load_tzdata
    zoneinfo.available_timezones = lambda: set(known)
    zoneinfo.reset_tzpath(to=[])


def memoise() -> None:
    """Takes the library's own `lru_cache` in place of that in C: functions that call themselves through C use up the stack, which
    the host bounds, after some three hundred calls."""
    tree = ast.parse(inspect.getsource(functools))
    wrapper = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "_lru_cache_wrapper"]
    exec(compile(ast.Module(wrapper, []), functools.__file__, "exec"), vars(functools))
