"""The binary under test, and what the check of each client package needs of it."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

try:
    import httpx2
except ImportError:
    # Earlier packages have another; only checks of providers' packages need one.
    httpx2 = None
from pydantic import TypeAdapter

BINARY, PROBE = sys.argv[1:3]
TOOLS = ["--component", PROBE, "--component", "builtin:files", "--component", "builtin:basics"]

# Id, name and arguments of six calls: two reads, a write, a read of what was written, an unknown tool, a bad argument.
CALLS = [
    ("c1", "read_file", {"path": "a.txt"}),
    ("c2", "read_file", {"path": "b.txt"}),
    ("c3", "write_file", {"path": "c.txt", "content": "written now\n"}),
    ("c4", "read_file", {"path": "c.txt"}),
    ("c5", "reed_file", {"path": "a.txt"}),
    ("c6", "read_file", {"file": "a.txt"}),
]

# What the text of each result has in it, and whether it is marked as failed.
EXPECTED = [
    ("first", False),
    ("second", False),
    ("c.txt", False),
    ("written now", False),
    ("no tool `reed_file`", True),
    ("/file", True),
]


def export(format: str, *options: str) -> Any:
    """The tools of the probe and the shipped tools in a format."""
    return run("export", "--format", format, *options, *TOOLS)


def batch(format: str, message: Any) -> Any:
    """The results of a message's calls, made in a folder with the files that CALLS read."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.txt").write_text("first\n")
        Path(folder, "b.txt").write_text("second\n")
        options = ["--component", PROBE, "--component", "builtin:files", "--dir", f"{folder}::/work::rw"]
        return run("batch", "-", "--format", format, *options, given=json.dumps(message))


def run(*arguments: str, given: str = "") -> Any:
    ended = subprocess.run([BINARY, *arguments], input=given, capture_output=True, text=True)
    assert ended.returncode == 0, f"{arguments}: {ended.stderr}"
    return json.loads(ended.stdout)


@contextmanager
def configured(more: str) -> Iterator[list[str]]:
    """The flags for a configuration of the probe with more in it."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "toolcell.toml")
        config.write_text(f"{more}\n[component.probe]\npath = {json.dumps(PROBE)}\n")
        yield ["--config", str(config)]


@contextmanager
def serving(more: str) -> Iterator[str]:
    """The address of a server over HTTP with such a configuration, which is ended in order."""
    with configured(more) as flags:
        server = subprocess.Popen([BINARY, "mcp", "--http", "0", *flags], stderr=subprocess.PIPE, text=True)
        for line in server.stderr:
            if "listening on " in line:
                break
        try:
            yield line.split("listening on ")[1].strip()
        finally:
            server.terminate()
            server.communicate(timeout=60)
        assert server.returncode == 0, server.returncode


def conform(kind: Any, value: Any) -> None:
    """The value is of the package's type, and has nothing that the type does not name: that would be gone."""
    # Alive until the end: lazily validated parts need it.
    adapter = TypeAdapter(kind)
    parsed = exhausted(adapter.validate_python(value))
    assert parsed == value, f"{kind} made {parsed} of {value}"


def exhausted(value: Any) -> Any:
    """The value with its lazily validated parts validated."""
    if isinstance(value, dict):
        return {key: exhausted(part) for key, part in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [exhausted(part) for part in value]
    return value


def answers(results: list[tuple[str | None, str, bool]]) -> None:
    """The results (id, text, whether it is marked as failed) are those of CALLS."""
    assert len(results) == len(CALLS), results
    for (id, text, failed), (call, _, _), (told, fails) in zip(results, CALLS, EXPECTED):
        assert id in (call, None) and failed == fails and told in text, (id, text, failed)


def schemas(schema: Any) -> Iterator[dict[str, Any]]:
    """The schema and every one inside it."""
    yield schema
    inside = [*schema.get("properties", {}).values(), *schema.get("anyOf", []), *schema.get("prefixItems", [])]
    for part in inside + ([schema["items"]] if "items" in schema else []):
        yield from schemas(part)


class Wire:
    """A transport that keeps what a client sends, and answers with `replies` in their order."""

    def __init__(self, *replies: Any) -> None:
        self.sent: list[Any] = []
        self.replies = list(replies)

    def client(self) -> "httpx2.Client":
        return httpx2.Client(transport=httpx2.MockTransport(self.answer))

    def answer(self, request: "httpx2.Request") -> "httpx2.Response":
        self.sent.append(json.loads(request.content))
        return httpx2.Response(200, json=self.replies.pop(0))


def main(*checks: Any) -> None:
    """Runs the checks and says how many there were."""
    os.environ.pop("PYTHONWARNINGS", None)
    for check in checks:
        check()
    print(f"{len(checks)} passed, 0 failed")
