"""`toolcell mcp` through the client of `mcp` 1.x, over pipes and HTTP."""

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta

from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

import toolcell

RULE = '[[rule]]\ntools = ["echo_string"]\naction = "ask"\nreason = "who knows"\n'


async def use(read, write) -> None:
    told: list[str] = []

    async def asked(context, params) -> types.ElicitResult:
        told.append(params.message)
        return types.ElicitResult(action="accept", content={"answer": "once"})

    async with ClientSession(read, write, elicitation_callback=asked, read_timeout_seconds=timedelta(seconds=60)) as session:
        hello = await session.initialize()
        assert hello.serverInfo.name == "toolcell" and hello.protocolVersion == "2025-11-25", hello
        assert any(tool.name == "read_output" for tool in (await session.list_tools()).tools)
        both = await asyncio.gather(*(session.call_tool("echo_u32", {"value": at}) for at in range(20)))
        assert [result.structuredContent["result"] for result in both] == list(range(20))
        failed = await session.call_tool("echo_u32", {"value": "x"})
        assert failed.isError and failed.meta["toolcell/kind"] == "invalid_arguments", failed
        try:
            await session.call_tool("no_such_tool", {})
        except McpError as error:
            assert error.error.code == types.INVALID_PARAMS, error
        else:
            raise AssertionError("an unknown tool is an error of the protocol")
        answered = await session.call_tool("echo_string", {"value": "a"})
        assert answered.structuredContent["result"] == "a" and "echo_string" in told[0], (answered, told)
        await session.send_ping()


def pipes() -> None:
    async def run() -> None:
        with toolcell.configured(RULE) as arguments:
            server = StdioServerParameters(command=toolcell.BINARY, args=["mcp", *arguments])
            async with stdio_client(server) as (read, write):
                await use(read, write)

    asyncio.run(run())


def http() -> None:
    async def run() -> None:
        with toolcell.serving(RULE) as url:
            async with streamablehttp_client(url) as (read, write, _):
                await use(read, write)

    asyncio.run(run())


toolcell.main(pipes, http)
