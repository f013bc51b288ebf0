"""`toolcell mcp` through what agents are built with: LangChain's adapter and OpenAI's Agents SDK, each with a model that says
what a script says and remembers what it is told."""

import asyncio
import json

from agents import Agent, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerStdio
from agents.models.interface import Model
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import toolcell

ARGUMENTS = ["mcp", "--component", toolcell.PROBE]


class Scripted(GenericFakeChatModel):
    """A model that takes any tools, and says what it was given to say."""

    def bind_tools(self, tools, **_):
        names = {tool.name for tool in tools}
        assert {"echo_record", "read_output"} <= names, names
        return self


def calls(name: str, arguments: dict, call: str) -> AIMessage:
    return AIMessage(content="", tool_calls=[{"name": name, "args": arguments, "id": call, "type": "tool_call"}])


def told(message: ToolMessage) -> str:
    content = message.content
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


async def by_langchain() -> None:
    server = {"transport": "stdio", "command": toolcell.BINARY, "args": ARGUMENTS}
    tools = await MultiServerMCPClient({"toolcell": server}).get_tools()
    record = {"name": "Ada", "age": 36, "email": None, "home_town": "London"}
    model = Scripted(messages=iter([
        calls("echo_record", record, "one"),
        calls("echo_u32", {"value": 7}, "two"),
        AIMessage(content="done"),
    ]))
    agent = create_agent(model, tools)
    state = await agent.ainvoke({"messages": [{"role": "user", "content": "go"}]})
    answers = [message for message in state["messages"] if isinstance(message, ToolMessage)]
    assert [answer.tool_call_id for answer in answers] == ["one", "two"], answers
    assert json.loads(told(answers[0])) == record, answers[0]
    assert told(answers[1]) == "7", answers[1]
    assert state["messages"][-1].content == "done"


class Saying(Model):
    """A model that says what a list says, a turn each."""

    def __init__(self, turns):
        self.turns, self.heard = list(turns), []

    async def get_response(self, system_instructions, input, model_settings, tools, *_, **__):
        assert any(tool.name == "echo_u32" for tool in tools), tools
        self.heard.append(input)
        return ModelResponse(output=[self.turns.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


async def by_agents_sdk() -> None:
    set_tracing_disabled(True)
    words = ResponseOutputText(text="done", type="output_text", annotations=[])
    model = Saying([
        ResponseFunctionToolCall(name="echo_u32", arguments='{"value": 7}', call_id="one", type="function_call"),
        ResponseFunctionToolCall(name="echo_u32", arguments='{"value": "x"}', call_id="two", type="function_call"),
        ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[words]),
    ])
    params = {"command": toolcell.BINARY, "args": ARGUMENTS}
    async with MCPServerStdio(params=params, client_session_timeout_seconds=60) as server:
        result = await Runner.run(Agent(name="tester", model=model, mcp_servers=[server]), "go")
    assert result.final_output == "done", result
    answers = {item["call_id"]: item["output"] for item in model.heard[-1] if item.get("type") == "function_call_output"}
    assert "7" in json.dumps(answers["one"]), answers
    # What a model has to change is told to it, and ends nothing.
    assert "integer" in json.dumps(answers["two"]), answers


def langchain() -> None:
    asyncio.run(by_langchain())


def agents_sdk() -> None:
    asyncio.run(by_agents_sdk())


toolcell.main(langchain, agents_sdk)
