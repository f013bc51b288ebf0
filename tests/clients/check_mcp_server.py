"""`toolcell mcp` through the client of the package `mcp`, in both eras: tools, results of every kind, questions, log."""

import asyncio
import warnings

from mcp import Client, MCPError, StdioServerParameters, stdio_client, types

import toolcell

VALUES = [
    ("echo_u64", {"value": "18446744073709551615"}),
    ("echo_tuple", {"value": [1, "a", True]}),
    ("echo_option", {}),
    ("echo_record", {"name": "Ada", "age": 36, "home_town": "London"}),
    ("echo_strings", {"value": ["a", "b"]}),
    ("echo_nothing", {"value": "a"}),
    ("rich_output", {"structured": '{"a": 1}'}),
]


def server() -> StdioServerParameters:
    return StdioServerParameters(command=toolcell.BINARY, args=["mcp", "--component", toolcell.PROBE])


async def in_mode(mode: str) -> None:
    async with Client(stdio_client(server()), mode=mode) as client:
        listed = (await client.list_tools()).tools
        assert any(tool.name == "read_output" for tool in listed)
        # The client holds each result against the announced schema by itself.
        for name, arguments in VALUES:
            result = await client.call_tool(name, arguments)
            assert not result.is_error, (name, result)
        failed = await client.call_tool("echo_u32", {"value": "x"})
        assert failed.is_error and failed.meta["toolcell/kind"] == "invalid_arguments", failed
        both = await asyncio.gather(*(client.call_tool("echo_u32", {"value": at}) for at in range(20)))
        assert [result.structured_content["result"] for result in both] == list(range(20))
        try:
            await client.call_tool("no_such_tool", {})
        except MCPError as error:
            assert error.code == types.INVALID_PARAMS, error
        else:
            raise AssertionError("an unknown tool is an error of the protocol")


def current() -> None:
    asyncio.run(in_mode("auto"))


def handshake() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asyncio.run(in_mode("legacy"))


toolcell.main(current, handshake)
