//! A provider takes the definitions of tools as they are, and what its model writes by them is taken back.

use crate::validators::Validators;
use serde_json::{Map, Value, json};
use toolcell::format::{Format, Strict};
use toolcell::{ErrorKind, Grant, Limits, NativeTool, Runtime, ToolCall, ToolComponent};
use toolcell_tests::command_line::CommandLine;
use toolcell_tests::scripted::Scripted;
use toolcell_tests::{builder, built, probe};

fn runtime() -> Runtime {
    built(
        builder()
            .component(probe(Grant::none(), Limits::new()))
            .component(ToolComponent::builtin("files"))
            .component(ToolComponent::builtin("basics")),
    )
}

/// The definitions with name and schema, whatever the format calls them.
fn definitions(format: Format, tools: &Value) -> Vec<(String, Option<Value>, Value)> {
    let list = if format == Format::Gemini { &tools[0]["functionDeclarations"] } else { tools };
    let one = |tool: &Value| {
        let inner = if format == Format::OpenAi { &tool["function"] } else { tool };
        let schema = ["parameters", "input_schema", "inputSchema"].iter().find_map(|name| inner.get(*name));
        (inner["name"].as_str().unwrap().to_owned(), schema.cloned(), inner.clone())
    };
    list.as_array().unwrap().iter().map(one).collect()
}

/// Every schema inside of `schema`, itself too.
fn each(schema: &Value, visit: &mut dyn FnMut(&Map<String, Value>)) {
    let keywords = schema.as_object().unwrap();
    visit(keywords);
    for (keyword, value) in keywords {
        match keyword.as_str() {
            "properties" => value.as_object().unwrap().values().for_each(|schema| each(schema, visit)),
            "items" => each(value, visit),
            "anyOf" | "prefixItems" => {
                value.as_array().unwrap().iter().for_each(|schema| each(schema, visit))
            }
            _ => {}
        }
    }
}

fn is_legal(key: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    !key.is_empty() && key.len() <= 64 && key.bytes().all(is_legal)
}

#[test]
fn every_schema_is_an_object_with_legal_keys_in_every_format() {
    let tools = runtime().list();
    for format in Format::ALL {
        for strict in [Strict::Off, Strict::On] {
            let export = format.export(&tools, strict);
            let definitions = definitions(format, &export.tools);
            assert_eq!(definitions.len(), tools.len(), "{format}");
            for (name, schema, _) in definitions {
                assert!(is_legal(&name), "{name}");
                let Some(schema) = schema else {
                    assert_eq!(format, Format::Gemini, "{name} has no schema");
                    continue;
                };
                assert_eq!(schema["type"], "object", "{format} {name}");
                assert!(schema["properties"].is_object(), "{format} {name}");
                for keyword in ["anyOf", "oneOf", "allOf", "$ref", "$defs", "$schema", "not"] {
                    assert!(schema.get(keyword).is_none(), "{format} {name} has {keyword} at its root");
                }
                if format != Format::Gemini {
                    Validators::new(&schema);
                }
                each(&schema, &mut |keywords| {
                    assert!(!keywords.contains_key("format"), "{format} {name}");
                    let keys = keywords.get("properties").and_then(Value::as_object);
                    assert!(keys.into_iter().flatten().all(|(key, _)| is_legal(key)), "{format} {name}");
                    if matches!(format, Format::OpenAi | Format::OpenAiResponses | Format::Gemini)
                        && keywords.get("type").is_some_and(|kind| kind == "array")
                    {
                        assert!(keywords.contains_key("items"), "{format} {name}: {keywords:?}");
                    }
                });
            }
        }
    }
}

#[test]
fn gemini_gets_only_what_its_schemas_have() {
    let export = Format::Gemini.export(&runtime().list(), Strict::Off);
    let known = [
        "type",
        "description",
        "nullable",
        "enum",
        "properties",
        "required",
        "propertyOrdering",
        "items",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "anyOf",
        "pattern",
    ];
    for (name, schema, _) in definitions(Format::Gemini, &export.tools) {
        each(&schema.unwrap_or_else(|| json!({})), &mut |keywords| {
            assert!(keywords.keys().all(|keyword| known.contains(&keyword.as_str())), "{name}: {keywords:?}");
            assert!(!keywords.contains_key("anyOf") || keywords.len() == 1, "{name}: {keywords:?}");
        });
    }
}

/// What other servers' and an embedder's own tools ordinarily take.
fn ordinary() -> (Scripted, Runtime) {
    let tool = |name: &str, schema: Value| json!({ "name": name, "inputSchema": schema });
    let of = |property: Value| json!({ "type": "object", "properties": { "p": property } });
    let server = Scripted::new(&[
        tool("tags", of(json!({ "type": "array" }))),
        tool("maybe", of(json!({ "type": "object", "properties": { "x": { "type": ["array", "null"] } } }))),
        tool("either", of(json!({ "type": ["array", "object"], "items": { "type": "string" } }))),
        tool("rows", of(json!({ "type": "array", "items": { "type": "array", "items": true } }))),
        tool("words", of(json!({ "type": ["string", "null"], "enum": ["a", "", null] }))),
        tool("bare", of(json!({ "enum": ["a", "b"] }))),
        tool(
            "needs",
            json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["zz"] }),
        ),
        tool("plain", of(json!({ "type": "string" }))),
    ]);
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Values {
        values: Vec<Value>,
    }
    let own =
        NativeTool::new("own", "Ours", |Values { values }: Values, _| async move { Ok::<_, String>(values) });
    let runtime = built(server.configured(&server.table("s", "")).native(own));
    (server, runtime)
}

/// One schema for which the service refuses all tools of a request.
#[test]
fn no_tool_spoils_a_request_of_gemini() {
    let (_server, runtime) = ordinary();
    let export = Format::Gemini.export(&runtime.list(), Strict::Off);
    let all = definitions(Format::Gemini, &export.tools);
    assert_eq!(all.len(), 9);
    for (name, schema, _) in all {
        each(&schema.unwrap(), &mut |keywords| {
            assert!(keywords.contains_key("type") != keywords.contains_key("anyOf"), "{name}: {keywords:?}");
            let is = |kind: &str| keywords.get("type").is_some_and(|it| it == kind);
            let members = keywords.get("properties").and_then(Value::as_object);
            assert_eq!(keywords.contains_key("items"), is("array"), "{name}: {keywords:?}");
            assert_eq!(members.is_some_and(|all| !all.is_empty()), is("object"), "{name}: {keywords:?}");
            let required = keywords.get("required").and_then(Value::as_array).into_iter().flatten();
            for needed in required {
                assert!(members.unwrap().contains_key(needed.as_str().unwrap()), "{name}: {keywords:?}");
            }
            let words = keywords.get("enum").and_then(Value::as_array);
            assert!(words.is_none() || is("string"), "{name}: {keywords:?}");
            let mut words = words.into_iter().flatten();
            assert!(words.all(|word| word.as_str().is_some_and(|word| !word.is_empty())), "{name}");
        });
    }
    let mut noted: Vec<&str> = export.notes.iter().filter_map(|note| note.split('`').nth(1)).collect();
    noted.sort_unstable();
    assert_eq!(noted, ["either", "maybe", "needs", "own", "rows", "tags", "words"], "{:?}", export.notes);
}

#[tokio::test]
async fn what_fits_a_strict_schema_is_taken_back() {
    let runtime = runtime();
    let mut tried = 0;
    for format in [Format::OpenAi, Format::OpenAiResponses, Format::Anthropic] {
        for tool in runtime.list() {
            // Each in a request of its own: together they are more than anthropic takes.
            let export = format.export(&[tool], Strict::On);
            let (name, schema, definition) = definitions(format, &export.tools).remove(0);
            let schema = schema.unwrap();
            let is_noted =
                export.notes.iter().any(|note| note.starts_with(&format!("`{name}` cannot be strict")));
            assert_eq!(definition["strict"] == true, !is_noted, "{format} {name}");
            if is_noted {
                assert!(
                    runtime.get(&name).unwrap().input_schema().to_string().contains("prefixItems"),
                    "{name}"
                );
                continue;
            }
            check_strict(&name, &schema);
            if format != Format::OpenAi || !(name.starts_with("echo") || name == "grep") {
                continue;
            }
            let validator = Validators::new(&schema);
            for arguments in samples(&schema) {
                assert!(validator.is_valid(&arguments), "{name} {arguments}");
                let outcome = runtime.call(ToolCall::new(name.as_str(), arguments.clone())).await;
                let kind = outcome.error_kind();
                assert_ne!(kind, Some(ErrorKind::InvalidArguments), "{name} {arguments}: {}", outcome.text());
                tried += 1;
            }
        }
    }
    assert!(tried > 40, "only {tried} values");
}

#[test]
fn no_more_tools_are_strict_than_a_request_may_have() {
    let tools = runtime().list();
    let export = Format::Anthropic.export(&tools, Strict::On);
    let strict = definitions(Format::Anthropic, &export.tools)
        .iter()
        .filter(|(_, _, definition)| definition["strict"] == true)
        .count();
    assert_eq!(strict, 20);
    let noted = export.notes.iter().filter(|note| note.contains("anthropic takes")).count();
    assert!(noted > 100 && noted < tools.len() - strict, "{noted}");
}

fn check_strict(name: &str, schema: &Value) {
    let known =
        ["type", "description", "enum", "properties", "required", "additionalProperties", "items", "anyOf"];
    each(schema, &mut |keywords| {
        assert!(keywords.keys().all(|keyword| known.contains(&keyword.as_str())), "{name}: {keywords:?}");
        if let Some(properties) = keywords.get("properties").and_then(Value::as_object) {
            let keys: Vec<&str> = properties.keys().map(String::as_str).collect();
            assert_eq!(keywords.get("required"), Some(&json!(keys)), "{name}");
            assert_eq!(keywords.get("additionalProperties"), Some(&json!(false)), "{name}");
        }
    });
}

/// Values that fit: each choice at least once, `null` wherever it may be.
fn samples(schema: &Value) -> Vec<Value> {
    if let Some(choices) = schema["anyOf"].as_array() {
        return choices.iter().flat_map(samples).collect();
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.clone();
    }
    let says = |text: &str| schema["description"].as_str().is_some_and(|docs| docs.contains(text));
    match schema["type"].as_str() {
        Some("boolean") => vec![json!(true)],
        Some("integer") => vec![json!(1)],
        Some("number") => vec![json!(0.5)],
        Some("string") if says("base64") => vec![json!("aGk=")],
        Some("string") => vec![json!("a")],
        Some("null") => vec![Value::Null],
        Some("array") => {
            let items = samples(&schema["items"]).into_iter().map(|item| json!([item]));
            [json!([])].into_iter().chain(items).collect()
        }
        Some("object") => {
            let properties = schema["properties"].as_object().unwrap();
            let all: Vec<(&String, Vec<Value>)> =
                properties.iter().map(|(name, schema)| (name, samples(schema))).collect();
            let first: Map<String, Value> =
                all.iter().map(|(name, values)| ((*name).clone(), values[0].clone())).collect();
            let mut objects = vec![Value::Object(first.clone())];
            for (name, values) in all {
                for value in values.into_iter().skip(1) {
                    let mut object = first.clone();
                    object.insert(name.clone(), value);
                    objects.push(Value::Object(object));
                }
            }
            objects
        }
        other => panic!("{other:?} in {schema}"),
    }
}

#[test]
fn the_command_line_prints_what_a_request_takes() {
    let line = CommandLine::new();
    let files = ["--component", "builtin:files"];
    let run = |rest: &[&str]| line.run(&[&["export"], rest, files.as_slice()].concat());
    let ended = run(&["--format", "openai", "--strict"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    let tools = ended.json();
    assert!(tools.as_array().unwrap().iter().all(|tool| tool["function"]["strict"] == true), "{tools:#}");
    let with_rules = run(&["--format", "anthropic", "--instructions"]).json();
    assert!(with_rules["instructions"].as_str().unwrap().contains("edit_file"), "{with_rules:#}");
    assert_eq!(with_rules["tools"][0]["name"], "edit_file");
    let noted = run(&["--format", "mcp", "--strict"]);
    assert!(noted.stderr.contains("no strict schemas"), "{}", noted.stderr);
    assert_eq!(run(&["--format", "toolcell"]).json()[0]["name"], "edit_file");
    let unknown = run(&["--format", "plain"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("toolcell"), "{unknown:?}");
}
