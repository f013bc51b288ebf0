"""Exports and batches in both of OpenAI's formats, through the types and the transformers of the package `openai`."""

import copy
import json
import re

from openai import OpenAI
from openai.lib._pydantic import _ensure_strict_json_schema
from openai.types.chat import (
    ChatCompletion,
    ChatCompletionFunctionToolParam,
    ChatCompletionMessageFunctionToolCall,
    ChatCompletionMessage,
    ChatCompletionToolMessageParam,
)
from openai.types.chat.chat_completion import Choice
from openai.types.chat.chat_completion_message_custom_tool_call import ChatCompletionMessageCustomToolCall, Custom
from openai.types.chat.chat_completion_message_function_tool_call import Function
from openai.types.responses import FunctionToolParam, Response, ResponseFunctionToolCall
from openai.types.responses.response_input_param import FunctionCallOutput

import toolcell

# What the guide to structured outputs lists; the package checks only the shape of objects.
STRICT_KEYWORDS = {"type", "description", "enum", "properties", "required", "additionalProperties", "items", "anyOf"}


def client(wire: toolcell.Wire) -> OpenAI:
    return OpenAI(api_key="a-key", base_url="http://provider.invalid/v1", http_client=wire.client(), max_retries=0)


def check_function(name: str, schema: dict, strict: bool | None) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name), name
    assert schema["type"] == "object" and isinstance(schema["properties"], dict), name
    for part in toolcell.schemas(schema):
        assert part.get("type") != "array" or "items" in part, (name, part)
    if strict:
        assert _ensure_strict_json_schema(copy.deepcopy(schema), path=(), root=schema) == schema, name
        for part in toolcell.schemas(schema):
            assert set(part) <= STRICT_KEYWORDS and ("type" in part or "anyOf" in part), (name, part)
            assert part.get("type") != "object" or part["additionalProperties"] is False, (name, part)


def chat_tools() -> None:
    for options in [[], ["--strict"]]:
        tools = toolcell.export("openai", *options)
        for tool in tools:
            toolcell.conform(ChatCompletionFunctionToolParam, tool)
            function = tool["function"]
            check_function(function["name"], function["parameters"], function.get("strict"))
        assert any(tool["function"].get("strict") for tool in tools) == bool(options)


def response_tools() -> None:
    for options in [[], ["--strict"]]:
        tools = toolcell.export("openai-responses", *options)
        for tool in tools:
            toolcell.conform(FunctionToolParam, tool)
            check_function(tool["name"], tool["parameters"], tool["strict"])
        assert any(tool["strict"] for tool in tools) == bool(options)


def completion(message: ChatCompletionMessage) -> dict:
    stop = "tool_calls" if message.tool_calls else "stop"
    choice = Choice(index=0, finish_reason=stop, message=message)
    whole = ChatCompletion(id="1", object="chat.completion", created=0, model="m", choices=[choice])
    return whole.to_dict()


def chat_batch() -> None:
    calls = [
        ChatCompletionMessageFunctionToolCall(
            id=id, type="function", function=Function(name=name, arguments=json.dumps(arguments))
        )
        for id, name, arguments in toolcell.CALLS
    ]
    asks = completion(ChatCompletionMessage(role="assistant", tool_calls=calls))
    wire = toolcell.Wire(asks, completion(ChatCompletionMessage(role="assistant", content="Done.")))
    tools = toolcell.export("openai")
    history: list = [{"role": "user", "content": "Go."}]
    first = client(wire).chat.completions.create(model="m", messages=history, tools=tools)
    message = first.choices[0].message
    # The whole answer, and its message alone, as the package dumps them.
    for dumped in [first.to_dict(), first.model_dump(), message.to_dict(), message.model_dump()]:
        results = toolcell.batch("openai", dumped)
        for result in results:
            toolcell.conform(ChatCompletionToolMessageParam, result)
        toolcell.answers([(r["tool_call_id"], r["content"], r["content"].startswith("error (")) for r in results])
    history += [message, *results]
    client(wire).chat.completions.create(model="m", messages=history, tools=tools)
    assert wire.sent[0]["tools"] == tools and wire.sent[1]["messages"][2:] == results


def chat_broken() -> None:
    """A call of another kind is answered, and one without an id is not: the package's types have no such result."""
    custom = ChatCompletionMessageCustomToolCall(id="c1", type="custom", custom=Custom(name="x", input="y"))
    lost = {"type": "function", "function": {"name": "echo", "arguments": "{}"}}
    results = toolcell.batch("openai", {"role": "assistant", "tool_calls": [custom.to_dict(), lost]})
    [result] = results
    toolcell.conform(ChatCompletionToolMessageParam, result)
    assert result["tool_call_id"] == "c1" and "custom tool call" in result["content"], result


def chat_strict_parse() -> None:
    """The package's own parser refuses tools that are not strict, and parses the arguments of those that are."""
    tools = [tool for tool in toolcell.export("openai", "--strict") if tool["function"].get("strict")]
    arguments = {"text": "a", "count": None, "tags": [], "exact": None}
    function = Function(name="echo_several", arguments=json.dumps(arguments))
    call = ChatCompletionMessageFunctionToolCall(id="c1", type="function", function=function)
    wire = toolcell.Wire(completion(ChatCompletionMessage(role="assistant", tool_calls=[call])))
    messages: list = [{"role": "user", "content": "Go."}]
    parsed = client(wire).chat.completions.parse(model="m", messages=messages, tools=tools)
    calls = parsed.choices[0].message.tool_calls
    assert calls and calls[0].function.parsed_arguments == arguments, calls
    [result] = toolcell.batch("openai", parsed.model_dump())
    assert json.loads(result["content"]) == ["a", None, [], None], result


def response_batch() -> None:
    items = [
        ResponseFunctionToolCall(
            id=f"fc_{id}", call_id=id, type="function_call", name=name, arguments=json.dumps(arguments)
        )
        for id, name, arguments in toolcell.CALLS
    ]
    asks = Response(
        id="1", object="response", created_at=0, model="m", output=items, tools=[], tool_choice="auto",
        parallel_tool_calls=True,
    )  # fmt: skip
    wire = toolcell.Wire(asks.to_dict(), asks.to_dict())
    tools = toolcell.export("openai-responses", "--strict")
    history: list = [{"role": "user", "content": "Go."}]
    first = client(wire).responses.create(model="m", input=history, tools=tools)
    for dumped in [first.to_dict(), first.model_dump(), [item.to_dict() for item in first.output]]:
        results = toolcell.batch("openai-responses", dumped)
        for result in results:
            toolcell.conform(FunctionCallOutput, result)
        toolcell.answers([(r["call_id"], r["output"], r["output"].startswith("error (")) for r in results])
    client(wire).responses.create(model="m", input=[*history, *first.output, *results], tools=tools)
    assert wire.sent[0]["tools"] == tools and wire.sent[1]["input"][-len(results) :] == results


toolcell.main(chat_tools, response_tools, chat_batch, chat_broken, chat_strict_parse, response_batch)
