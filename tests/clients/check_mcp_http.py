"""`toolcell mcp --http` through the client of the package `mcp`, in both eras: tools, results, log, progress, questions."""

import asyncio
import warnings

from mcp import Client, MCPError, types

import toolcell

VALUES = [
    ("echo_u64", {"value": "18446744073709551615"}),
    ("echo_option", {}),
    ("echo_record", {"name": "Ada", "age": 36, "home_town": "London"}),
    ("rich_output", {"structured": '{"a": 1}'}),
]

RULE = '[[rule]]\ntools = ["echo_string"]\naction = "ask"\nreason = "who knows"\n'


async def in_mode(mode: str) -> None:
    told: list[str] = []

    async def asked(context, params) -> types.ElicitResult:
        told.append(params.message)
        return types.ElicitResult(action="accept", content={"answer": "once"})

    with toolcell.serving(RULE) as url:
        async with Client(url, mode=mode, elicitation_callback=asked) as client:
            listed = (await client.list_tools()).tools
            assert any(tool.name == "read_output" for tool in listed)
            # The client holds each result against the announced schema by itself.
            for name, arguments in VALUES:
                result = await client.call_tool(name, arguments)
                assert not result.is_error, (name, result)
            failed = await client.call_tool("echo_u32", {"value": "x"})
            assert failed.is_error and failed.meta["toolcell/kind"] == "invalid_arguments", failed
            both = await asyncio.gather(*(client.call_tool("echo_u32", {"value": at}) for at in range(50)))
            assert [result.structured_content["result"] for result in both] == list(range(50))
            try:
                await client.call_tool("no_such_tool", {})
            except MCPError as error:
                assert error.code == types.INVALID_PARAMS, error
            else:
                raise AssertionError("an unknown tool is an error of the protocol")

            steps: list[float] = []

            async def step(progress: float, total: float | None, message: str | None) -> None:
                steps.append(progress)

            await client.call_tool("progress_many", {"count": 3}, progress_callback=step)
            assert steps and steps == sorted(steps), steps
            answered = await client.call_tool("echo_string", {"value": "a"})
            assert answered.structured_content["result"] == "a" and "echo_string" in told[0], (answered, told)
            cut = await client.call_tool("text", {"bytes": 300_000})
            handle = cut.meta["toolcell/truncated"]["handle"]
            part = await client.call_tool("read_output", {"handle": handle, "bytes": "0:10"})
            assert len(part.structured_content["result"]) == 10, part


def current() -> None:
    asyncio.run(in_mode("auto"))


def handshake() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asyncio.run(in_mode("legacy"))


toolcell.main(current, handshake)
