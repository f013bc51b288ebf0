"""Exports and batches in Gemini's format, through the types and the transformers of the package `google-genai`."""

import copy
import re

import jsonschema
from google import genai
from google.genai import _transformers, types

import toolcell


def client(wire: toolcell.Wire) -> genai.Client:
    options = types.HttpOptions(base_url="http://provider.invalid", httpx_client=wire.client())
    return genai.Client(api_key="a-key", http_options=options)


def spelled(schema: dict) -> dict:
    """The package's spelling of a schema: types in capitals."""
    schema = dict(schema)
    if "type" in schema:
        schema["type"] = types.Type(schema["type"]).value
    if "properties" in schema:
        schema["properties"] = {key: spelled(part) for key, part in schema["properties"].items()}
    if "anyOf" in schema:
        schema["anyOf"] = [spelled(part) for part in schema["anyOf"]]
    if "items" in schema:
        schema["items"] = spelled(schema["items"])
    return schema


def transformed_nulls(schema: dict) -> dict:
    """A schema of nothing but null (as of a result without a value) is left without a type by the transformer."""
    schema = dict(schema)
    if schema.get("type") == "NULL":
        return {"nullable": True}
    if "properties" in schema:
        schema["properties"] = {key: transformed_nulls(part) for key, part in schema["properties"].items()}
    if "anyOf" in schema:
        schema["anyOf"] = [transformed_nulls(part) for part in schema["anyOf"]]
    if "items" in schema:
        schema["items"] = transformed_nulls(schema["items"])
    return schema


def dumped(model: object) -> dict:
    return model.model_dump(by_alias=True, exclude_none=True, mode="json")  # type: ignore[attr-defined]


def tools() -> None:
    [tool] = toolcell.export("gemini")
    for declaration in tool["functionDeclarations"]:
        name, schema = declaration["name"], declaration.get("parameters")
        # Extra fields are refused by the package's models.
        types.FunctionDeclaration.model_validate(declaration)
        assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}", name), name
        if schema is None:
            continue
        assert schema["type"] == "object" and schema["properties"], name
        for part in toolcell.schemas(schema):
            keys = part.get("properties", {})
            assert all(re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}", key) for key in keys), (name, keys)
            assert ("type" in part) != ("anyOf" in part), (name, part)
            assert part.get("type") != "array" or "items" in part, (name, part)
            assert set(part.get("required", [])) <= set(keys), (name, part)
        transformed = _transformers.t_schema(client(toolcell.Wire()), copy.deepcopy(schema))
        assert transformed and dumped(transformed) == transformed_nulls(spelled(schema)), name
        jsonschema.Draft202012Validator.check_schema(transformed.json_schema.model_dump(exclude_none=True, mode="json"))


def part_of(id: str | None, name: str, args: dict) -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=id, name=name, args=args))


def batch() -> None:
    parts = [types.Part(text="Let me see.")] + [part_of(*call) for call in toolcell.CALLS]
    content = types.Content(role="model", parts=parts)
    candidate = types.Candidate(content=content, finish_reason=types.FinishReason.STOP)
    asks = dumped(types.GenerateContentResponse(candidates=[candidate]))
    wire = toolcell.Wire(asks, asks)
    exported = toolcell.export("gemini")
    config = types.GenerateContentConfig(tools=[types.Tool.model_validate(tool) for tool in exported])
    first = client(wire).models.generate_content(model="m", contents="Go.", config=config)
    # The whole answer and its content, as the package dumps them: in either spelling, with or without what is unset.
    inner = first.candidates[0].content  # type: ignore[index]
    for message in [first.model_dump(mode="json"), dumped(first), dumped(inner), inner.to_json_dict()]:
        results = toolcell.batch("gemini", message)
        given = types.Content.model_validate(results)
        assert dumped(given) == results
        responses = [part["functionResponse"] for part in results["parts"]]
        toolcell.answers([
            (one["id"], text_of(one["response"]), "error" in one["response"]) for one in responses
        ])  # fmt: skip
    contents = ["Go.", inner, given]
    client(wire).models.generate_content(model="m", contents=contents, config=config)  # type: ignore[arg-type]
    [tool] = wire.sent[0]["tools"]
    assert len(tool["functionDeclarations"]) == len(exported[0]["functionDeclarations"])
    for sent, declaration in zip(tool["functionDeclarations"], exported[0]["functionDeclarations"]):
        # On the wire its names are in either spelling.
        declared = {key: spelled(value) if key == "parameters" else value for key, value in declaration.items()}
        assert dumped(types.FunctionDeclaration.model_validate(sent)) == declared, declaration["name"]
    assert wire.sent[1]["contents"][2] == results


def without_ids() -> None:
    """Older answers have no ids: results go by position, and are given none."""
    parts = [part_of(None, name, args) for _, name, args in toolcell.CALLS]
    results = toolcell.batch("gemini", dumped(types.Content(role="model", parts=parts)))
    types.Content.model_validate(results)
    responses = [part["functionResponse"] for part in results["parts"]]
    assert not any("id" in one for one in responses)
    toolcell.answers([(None, text_of(one["response"]), "error" in one["response"]) for one in responses])


def text_of(response: dict) -> str:
    return response.get("error") or response["output"]


def rich_results() -> None:
    """Pictures and other content, too."""
    results = toolcell.batch("gemini", dumped(types.Content(role="model", parts=[part_of("c1", "rich_output", {})])))
    assert dumped(types.Content.model_validate(results)) == results
    assert results["parts"][0]["functionResponse"]["parts"], results


toolcell.main(tools, batch, without_ids, rich_results)
