"""Exports and batches in the format of the Model Context Protocol, through the types and the client of the package `mcp`."""

import asyncio
import re
import warnings

import jsonschema
from mcp import Client, types
from mcp.server.lowlevel import Server
from mcp.types import methods
from mcp.types.version import KNOWN_PROTOCOL_VERSIONS

import toolcell

TOOLS = toolcell.export("mcp")


def tools() -> None:
    for tool in TOOLS:
        parsed = types.Tool.model_validate(tool)
        assert parsed.model_dump(by_alias=True, exclude_unset=True, mode="json") == tool, tool["name"]
        assert re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", tool["name"])
        for schema in [tool["inputSchema"], tool.get("outputSchema", {"type": "object"})]:
            assert schema["type"] == "object"
            jsonschema.Draft202012Validator.check_schema(schema)
    for version in KNOWN_PROTOCOL_VERSIONS:
        modern = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        listed = {"tools": TOOLS} | (modern if version >= "2026" else {})
        methods.validate_server_result("tools/list", version, listed)


def requests(calls: list) -> list:
    """The calls as the package's client writes them."""
    made = []
    for id, name, arguments in calls:
        params = types.CallToolRequestParams(name=name, arguments=arguments)
        request = types.CallToolRequest(params=params).model_dump(by_alias=True, exclude_none=True, mode="json")
        made.append(types.JSONRPCRequest(jsonrpc="2.0", id=id, **request).model_dump(by_alias=True, exclude_none=True))
    return made


def batch() -> None:
    results = toolcell.batch("mcp", requests(toolcell.CALLS))
    parsed = [types.CallToolResult.model_validate(result) for result in results]
    for result, whole in zip(parsed, results):
        assert result.model_dump(by_alias=True, exclude_unset=True, mode="json") == whole
    toolcell.answers([(r["_meta"]["toolcell/id"], r["content"][0]["text"], r["isError"]) for r in results])


# Values of every type, and a call that fails.
VALUES = [
    ("echo_u64", {"value": "18446744073709551615"}),
    ("echo_f64", {"value": 0.5}),
    ("echo_string", {"value": ""}),
    ("echo_bytes", {"value": "AAEC"}),
    ("echo_tuple", {"value": [1, "a", True]}),
    ("echo_option", {}),
    ("echo_option_option", {"value": {"some": None}}),
    ("echo_result", {"value": {"ok": 3}}),
    ("echo_result", {"value": {"err": "no"}}),
    ("echo_bare_results", {"no_ok": {"ok": None}, "no_error": {"err": None}, "neither": {"ok": None}}),
    ("echo_variant", {"value": {"tag": "rectangle", "val": [1, 2]}}),
    ("echo_enum", {"value": "deep_blue"}),
    ("echo_flags", {"value": ["read", "run_as_root"]}),
    ("echo_record", {"name": "Ada", "age": 36, "home_town": "London"}),
    ("echo_several", {"text": "a", "tags": []}),
    ("echo_nothing", {"value": "a"}),
    ("echo_silence", {}),
    ("rich_output", {"structured": '{"a": 1}'}),
    ("no_such_tool", {}),
]


async def in_a_session() -> None:
    """A client of the package lists the tools, calls them, and holds each result against the announced schema."""
    results = toolcell.batch("mcp", requests([(str(at), *call) for at, call in enumerate(VALUES)]))

    async def list_tools(*_: object) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate({"tools": TOOLS})

    async def call_tool(_: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        at = VALUES.index((params.name, params.arguments or {}))
        return types.CallToolResult.model_validate(results[at])

    server = Server("toolcell", on_list_tools=list_tools, on_call_tool=call_tool)
    for mode in ["auto", "legacy"]:
        async with Client(server, mode=mode) as client:
            assert len((await client.list_tools()).tools) == len(TOOLS)
            for (name, arguments), expected in zip(VALUES, results):
                result = await client.call_tool(name, arguments)
                fails = (name, arguments) in [VALUES[8], VALUES[-1]]
                assert result.is_error == expected["isError"] == fails, (name, result)


def session() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asyncio.run(in_a_session())


toolcell.main(tools, batch, session)
