"""`run_python` through the client of the package `mcp`: values, what is printed, files, errors, and ways out that are none."""

import asyncio
import tempfile
from pathlib import Path

from mcp import Client, StdioServerParameters, stdio_client

import toolcell

COMPONENT = Path(__file__).parents[2] / "guest-tools/dist/python.wasm"


async def run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "data.csv").write_text("name,n\na,1\nb,41\n")
        flags = ["--component", str(COMPONENT), "--dir", f"{folder}::/work::rw", "--state", "session"]
        server = StdioServerParameters(command=toolcell.BINARY, args=["mcp", *flags])
        async with Client(stdio_client(server)) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert "init" not in tools, tools
            tool = tools["run_python"]
            assert tool.input_schema["required"] == ["code"] and "CPython" in tool.description
            await calls(client)
        assert Path(folder, "out.json").read_text() == '{"sum": 42}'


async def calls(client: Client) -> None:
    async def call(code: str) -> tuple[bool, list[str], dict]:
        result = await client.call_tool("run_python", {"code": code})
        return result.is_error, [block.text for block in result.content], result.structured_content

    code = "import csv, json\nrows = list(csv.DictReader(open('data.csv')))\nprint(len(rows), 'rows', rows[0])\n"
    code += "total = {'sum': sum(int(row['n']) for row in rows)}\njson.dump(total, open('out.json', 'w'))\ntotal"
    failed, texts, data = await call(code)
    assert not failed and texts == ["2 rows {'name': 'a', 'n': '1'}", '{"sum":42}'], texts
    assert data == {"value": {"sum": 42}, "console": texts[0] + "\n"}, data
    for count in (1, 2):
        assert (await call("state['calls'] = state.get('calls', 0) + 1\nstate['calls']"))[2] == {"value": count}
    failed, texts, _ = await call("print('before')\nx = = 1")
    assert failed and "line 2" in texts[-1] and "SyntaxError" in texts[-1], texts
    failed, texts, _ = await call("print('before')\nNone.x")
    assert failed and texts[0] == "before" and 'File "code.py", line 2' in texts[-1], texts
    for way, told in [
        ("open('/etc/passwd')", "not permitted"),
        ("open('../x', 'w')", "not permitted"),
        ("__import__('socket').create_connection(('127.0.0.1', 80))", "this tool has no network"),
        ("__import__('subprocess').run(['id'])", "this tool has no processes"),
        ("__import__('os').system('id')", "this tool has no processes"),
        ("__import__('ctypes')", "No module named 'ctypes'"),
    ]:
        failed, texts, _ = await call(way)
        assert failed and told in texts[-1], texts
    assert (await call("dict(__import__('os').environ)"))[2] == {"value": {}}


def through_the_server() -> None:
    asyncio.run(run())


toolcell.main(through_the_server)
