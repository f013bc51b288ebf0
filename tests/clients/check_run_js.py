"""`run_js` through the client of the package `mcp`: values, what is printed, files, errors, and ways out that are none."""

import asyncio
import tempfile
from pathlib import Path

from mcp import Client, StdioServerParameters, stdio_client

import toolcell


async def run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "data.csv").write_text("name,n\na,1\nb,41\n")
        # The first call of all compiles the interpreter, on a busy machine for longer than a call may take.
        flags = ["--component", "builtin:js", "--dir", f"{folder}::/work::rw", "--state", "session"]
        server = StdioServerParameters(command=toolcell.BINARY, args=["mcp", *flags])
        async with Client(stdio_client(server)) as client:
            [tool] = [tool for tool in (await client.list_tools()).tools if tool.name == "run_js"]
            assert tool.input_schema["required"] == ["code"] and "fs.readFileSync" in tool.description
            await calls(client)
        assert Path(folder, "out.json").read_text() == '{"sum":42}'


async def calls(client: Client) -> None:
    async def call(code: str) -> tuple[bool, list[str], dict]:
        result = await client.call_tool("run_js", {"code": code})
        return result.is_error, [block.text for block in result.content], result.structured_content

    rows = "fs.readFileSync('data.csv').trim().split('\\n').slice(1)"
    code = f"const rows = {rows};\nconsole.log(rows.length, 'rows', rows);\nconst sum = rows.reduce((n, r) => n + +r.split(',')[1], 0);\n"
    code += "await fs.writeFile('out.json', JSON.stringify({ sum }));\n({ sum })"
    failed, texts, data = await call(code)
    assert not failed and texts == ["2 rows [ 'a,1', 'b,41' ]", '{"sum":42}'], texts
    assert data == {"value": {"sum": 42}, "console": texts[0] + "\n"}, data
    for count in (1, 2):
        assert (await call("state.calls = (state.calls ?? 0) + 1"))[2] == {"value": count}
    failed, texts, _ = await call("console.log('before');\nconst x = ;")
    assert failed and "at line 2, col 11" in texts[-1], texts
    failed, texts, _ = await call("console.log('before');\nnull.x")
    assert failed and texts[0] == "before" and "code.js:2" in texts[-1], texts
    for way, told in [
        ("fs.readFileSync('/etc/passwd')", "not permitted"),
        ("fs.writeFileSync('../x', '')", "not permitted"),
        ("fetch('http://127.0.0.1')", "fetch is not available here"),
        ("require('child_process')", "there is no module `child_process` here"),
    ]:
        failed, texts, _ = await call(way)
        assert failed and told in texts[-1], texts
    assert (await call("process.env"))[2] == {"value": {}}


def through_the_server() -> None:
    asyncio.run(run())


toolcell.main(through_the_server)
