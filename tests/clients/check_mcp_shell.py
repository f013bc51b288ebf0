"""The shell of `toolcell mcp` through the client of the package `mcp`: scripts on granted files, and what is out of reach."""

import asyncio
import tempfile
from pathlib import Path

from mcp import Client, StdioServerParameters, stdio_client

import toolcell


def server(folder: str, access: str) -> StdioServerParameters:
    grant = f"{folder}::/work{access}"
    return StdioServerParameters(
        command=toolcell.BINARY, args=["mcp", "--component", "builtin:shell", "--dir", grant]
    )


async def scripts(client: Client, folder: Path) -> None:
    (tool,) = [tool for tool in (await client.list_tools()).tools if tool.name == "bash"]
    assert set(tool.input_schema["properties"]) == {"command", "timeout"}, tool.input_schema
    assert tool.input_schema["properties"]["timeout"]["default"] == 120, tool.input_schema
    counted = await client.call_tool("bash", {"command": "grep -rn TODO . | sort | head -2; ls | wc -l"})
    assert not counted.is_error, counted
    assert counted.content[0].text == "./a.py:2:# TODO one\n./b.py:1:# TODO two\n2\n", counted
    assert counted.structured_content["exit_code"] == 0, counted
    failed = await client.call_tool("bash", {"command": "echo before; ls nowhere; exit 7"})
    assert failed.is_error and failed.meta["toolcell/kind"] == "tool_error", failed
    assert failed.content[0].text.startswith("Command exit code: 7\nbefore\nls: cannot access"), failed
    made = await client.call_tool("bash", {"command": "for f in *.py; do sed -i s/TODO/DONE/ $f; done"})
    assert not made.is_error and (folder / "b.py").read_text() == "# DONE two\n", made


async def ways_out(client: Client, outside: Path) -> None:
    for command in [
        f"cat {outside}/secret",
        f"cp -r {outside} . && cat */secret",
        f"ln -s {outside}/secret s; cat s",
        "python3 -c 'import os'",
        "curl http://127.0.0.1",
        "exec 3<>/dev/tcp/127.0.0.1/80; cat <&3",
        "cat /etc/passwd",
    ]:
        result = await client.call_tool("bash", {"command": command})
        text = result.content[0].text
        assert result.is_error and "hidden" not in text and "root:" not in text, (command, result)
    ended = await client.call_tool("bash", {"command": ":(){ :|:& };:; yes | head -1", "timeout": 20})
    assert "more than 128 processes" in ended.content[0].text, ended


async def in_the_cell() -> None:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as outside:
        Path(folder, "a.py").write_text("x = 1\n# TODO one\n")
        Path(folder, "b.py").write_text("# TODO two\n")
        Path(outside, "secret").write_text("hidden")
        async with Client(stdio_client(server(folder, "::rw"))) as client:
            await scripts(client, Path(folder))
            await ways_out(client, Path(outside))
        async with Client(stdio_client(server(folder, ""))) as client:
            refused = await client.call_tool("bash", {"command": "echo x > c.py"})
            assert refused.is_error and not Path(folder, "c.py").exists(), refused
        assert Path(outside, "secret").read_text() == "hidden"


def shell() -> None:
    asyncio.run(in_the_cell())


toolcell.main(shell)
