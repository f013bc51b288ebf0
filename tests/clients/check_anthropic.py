"""Exports and batches in Anthropic's format, through the types and the transformers of the package `anthropic`."""

import re

from anthropic import Anthropic, transform_schema
from anthropic.types import Message, MessageParam, TextBlock, ToolParam, ToolResultBlockParam, ToolUseBlock, Usage

import toolcell


def tools() -> None:
    for options in [[], ["--strict"]]:
        exported = toolcell.export("anthropic", *options)
        for tool in exported:
            toolcell.conform(ToolParam, tool)
            name, schema = tool["name"], tool["input_schema"]
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name), name
            assert schema["type"] == "object" and not {"anyOf", "oneOf", "allOf"} & set(schema), name
            for part in toolcell.schemas(schema):
                keys = part.get("properties", {})
                assert all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", key) for key in keys), (name, keys)
        assert sum(tool.get("strict", False) for tool in exported) == (20 if options else 0)


def strict_schemas() -> None:
    """The package's transformer finds nothing to change in any strict schema, of which OpenAI's export has more."""
    for tool in toolcell.export("openai", "--strict"):
        function = tool["function"]
        if function.get("strict"):
            schema = function["parameters"]
            assert transform_schema(schema) == without_types_of_enums(schema), function["name"]
    for tool in toolcell.export("anthropic", "--strict"):
        if tool.get("strict"):
            schema = tool["input_schema"]
            assert transform_schema(schema) == without_types_of_enums(schema), tool["name"]


def without_types_of_enums(schema: dict) -> dict:
    """The package's spelling: an enum's words say its type."""
    spelled = dict(schema)
    if "enum" in spelled:
        spelled.pop("type", None)
    if "properties" in spelled:
        spelled["properties"] = {key: without_types_of_enums(part) for key, part in spelled["properties"].items()}
    if "anyOf" in spelled:
        spelled["anyOf"] = [without_types_of_enums(part) for part in spelled["anyOf"]]
    if "items" in spelled:
        spelled["items"] = without_types_of_enums(spelled["items"])
    return spelled


def batch() -> None:
    usage = Usage(input_tokens=1, output_tokens=1)
    uses = [ToolUseBlock(id=id, type="tool_use", name=name, input=input) for id, name, input in toolcell.CALLS]
    content = [TextBlock(type="text", text="Let me see."), *uses]
    asks = Message(
        id="1", type="message", role="assistant", model="m", content=content, stop_reason="tool_use", usage=usage
    )
    wire = toolcell.Wire(asks.to_dict(), asks.to_dict())
    client = Anthropic(
        api_key="a-key", base_url="http://provider.invalid", http_client=wire.client(), max_retries=0
    )
    exported = toolcell.export("anthropic", "--strict")
    history: list = [{"role": "user", "content": "Go."}]
    first = client.messages.create(model="m", max_tokens=100, messages=history, tools=exported)
    # The whole answer, and its blocks alone, as the package dumps them.
    for dumped in [first.to_dict(), first.model_dump(), [block.to_dict() for block in first.content]]:
        message = toolcell.batch("anthropic", dumped)
        toolcell.conform(MessageParam, message)
        for result in message["content"]:
            toolcell.conform(ToolResultBlockParam, result)
        toolcell.answers(
            [(r["tool_use_id"], r["content"][0]["text"], r.get("is_error", False)) for r in message["content"]]
        )
    history += [{"role": "assistant", "content": first.content}, message]
    client.messages.create(model="m", max_tokens=100, messages=history, tools=exported)
    assert wire.sent[0]["tools"] == exported and wire.sent[1]["messages"][2] == message


def broken() -> None:
    """A block without a name is answered, and one without an id is not: the package's types have no such result."""
    blocks = [{"type": "tool_use", "id": "c1", "input": {}}, {"type": "tool_use", "name": "echo", "input": {}}]
    message = toolcell.batch("anthropic", blocks)
    toolcell.conform(MessageParam, message)
    [result] = message["content"]
    toolcell.conform(ToolResultBlockParam, result)
    assert result["tool_use_id"] == "c1" and result["is_error"], result


def rich_results() -> None:
    """Pictures and other content, too."""
    use = ToolUseBlock(id="c1", type="tool_use", name="rich_output", input={"structured": None})
    message = toolcell.batch("anthropic", [use.to_dict()])
    [result] = message["content"]
    toolcell.conform(ToolResultBlockParam, result)
    assert any(block["type"] == "image" for block in result["content"]), result


toolcell.main(tools, strict_schemas, batch, broken, rich_results)
