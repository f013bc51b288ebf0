//! A function of the embedder's program takes what its type says, and every provider takes its description.

use serde_json::{Value, json};
use toolcell::format::{Format, Strict};
use toolcell::{ErrorKind, NativeTool, Runtime, ToolCall};
use toolcell_tests::{builder, built};

use crate::validators::Validators;

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Sum {
    /// Adds.
    Add { a: u32, b: u32 },
    /// Turns the sign.
    Negate { a: u32 },
}

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
struct Tree {
    label: String,
    size: Option<u32>,
    #[serde(default)]
    children: Vec<Tree>,
    anything: Value,
}

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
struct Named {
    kept: String,
    #[serde(default, rename = "a name of many words that is longer than any provider takes it, with spaces")]
    odd: Option<String>,
}

async fn same<A>(arguments: A, _: toolcell::tool::NativeCall) -> Result<A, String> {
    Ok(arguments)
}

fn runtime() -> Runtime {
    built(
        builder()
            .native(NativeTool::new("sum", "Sums", same::<Sum>))
            .native(NativeTool::new("tree", "A tree", same::<Tree>))
            .native(NativeTool::new("named", "Has odd names", same::<Named>)),
    )
}

#[tokio::test]
async fn a_tagged_enum_is_called_by_any_of_its_cases_and_no_other() {
    let runtime = runtime();
    for (arguments, is_taken) in [
        (json!({ "op": "add", "a": 3, "b": 4 }), true),
        (json!({ "op": "negate", "a": 3 }), true),
        (json!({ "op": "add", "a": 3 }), false),
        (json!({ "op": "negate", "a": 3, "b": 4 }), false),
        (json!({ "op": "negate", "a": 3, "c": 4 }), false),
        (json!({ "op": "other", "a": 3 }), false),
        (json!({}), false),
    ] {
        let fits = Validators::new(runtime.get("sum").unwrap().input_schema()).is_valid(&arguments);
        let outcome = runtime.call(ToolCall::new("sum", arguments.clone())).await;
        assert_eq!((outcome.is_success(), fits), (is_taken, is_taken), "{arguments}: {outcome:#?}");
        if !is_taken {
            assert_eq!(outcome.error_kind(), Some(ErrorKind::InvalidArguments));
        }
    }
}

#[test]
fn what_is_no_object_is_refused_when_it_is_added() {
    let list = NativeTool::new("list", "Takes a list", same::<Vec<String>>);
    let error = builder().native(list).build_blocking().unwrap_err().to_string();
    assert!(error.contains("native tool `list`") && error.contains("give the function a struct"), "{error}");
}

#[test]
fn every_provider_takes_the_description_and_notes_tell_what_is_lost() {
    let tools = runtime().list();
    for format in [Format::OpenAi, Format::OpenAiResponses, Format::Anthropic, Format::Gemini] {
        for strict in [Strict::Off, Strict::On] {
            let export = format.export(&tools, strict);
            let text = export.tools.to_string();
            for unknown in
                ["\"oneOf\"", "\"allOf\"", "\"$ref\"", "\"$defs\"", "\"format\"", "\"const\"", "many words"]
            {
                assert!(!text.contains(unknown), "{format}: {unknown} in {text}");
            }
            assert!(text.contains("{op: \\\"add\\\", a, b}; {op: \\\"negate\\\", a}"), "{format}: {text}");
            let notes = export.notes.join("\n");
            for told in
                ["`sum` takes one of several sets", "`tree` nests in itself", "`named` may have the property"]
            {
                assert!(notes.contains(told), "{format}: {notes}");
            }
            assert!(!text.contains("\"strict\":true"), "{format}: {text}");
        }
    }
    let roots = Format::Mcp.export(&tools, Strict::Off).tools;
    for tool in roots.as_array().unwrap() {
        assert!(tool["inputSchema"].get("oneOf").is_none(), "{tool}");
        assert!(tool["inputSchema"]["properties"].is_object(), "{tool}");
    }
}

#[test]
fn a_lowered_schema_takes_what_the_tool_takes() {
    let tools = runtime().list();
    let values = [
        ("sum", json!({ "op": "add", "a": 3, "b": 4 })),
        ("sum", json!({ "op": "negate", "a": 3 })),
        (
            "tree",
            json!({ "label": "x", "size": null, "anything": [1],
            "children": [{ "label": "y", "children": [], "anything": null }] }),
        ),
        ("named", json!({ "kept": "x" })),
    ];
    for format in [Format::OpenAi, Format::Anthropic, Format::Mcp] {
        let export = format.export(&tools, Strict::Off).tools;
        for (name, value) in &values {
            let list = export.as_array().unwrap().iter();
            let mut inner = list.map(|tool| if format == Format::OpenAi { &tool["function"] } else { tool });
            let tool = inner.find(|tool| tool["name"] == *name).unwrap();
            let schema =
                ["parameters", "input_schema", "inputSchema"].iter().find_map(|key| tool.get(*key)).unwrap();
            assert_eq!(Validators::new(schema).violations(value), Vec::<String>::new(), "{format} {name}");
        }
    }
}

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Order {
    Ascending,
    Descending,
}

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
struct Range {
    from: u32,
    to: Option<u8>,
}

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Search {
    pattern: String,
    limit: Option<u32>,
    order: Option<Order>,
    range: Option<Range>,
    #[serde(default)]
    sums: Vec<Sum>,
    #[schemars(length(min = 1, max = 3))]
    #[serde(default)]
    words: Option<Vec<String>>,
    #[schemars(regex(pattern = "^[a-z]+$"))]
    #[serde(default)]
    name: Option<String>,
    #[schemars(range(min = 0.5))]
    #[serde(default)]
    factor: Option<f64>,
    #[schemars(extend("writeOnly" = true))]
    #[serde(default)]
    key: Option<u32>,
}

#[tokio::test]
async fn what_does_not_fit_is_said_as_of_a_component() {
    let runtime = built(builder().native(NativeTool::new("search", "Searches", same::<Search>)));
    let mut told = String::new();
    for arguments in [
        json!({}),
        json!({ "pattern": 7, "limit": "many" }),
        json!({ "pattern": "x", "limit": 5_000_000_000_u64 }),
        json!({ "pattern": "x", "limt": 5, "a/b": 1 }),
        json!({ "pattern": "x", "order": "ascneding" }),
        json!({ "pattern": "x", "range": { "from": -1, "to": 256, "too": 1 } }),
        json!({ "pattern": "x", "range": {} }),
        json!({ "pattern": "x", "range": [1, 2] }),
        json!({ "pattern": "x", "range": "{\"from\": -1}" }),
        json!({ "pattern": "x", "sums": [{ "op": "add", "a": 1 }, { "op": "negate", "a": "x" }] }),
        json!({ "pattern": "x", "sums": [{ "op": "negte", "a": 1 }, {}, 7] }),
        json!({ "pattern": "x", "words": [] }),
        json!({ "pattern": "x", "words": ["a", 1] }),
        json!({ "pattern": "x", "name": "A B", "factor": 0.25 }),
        json!({ "pattern": "x", "key": "hunter2" }),
        json!([]),
    ] {
        let outcome = runtime.call(ToolCall::new("search", arguments.clone())).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::InvalidArguments), "{arguments}: {outcome:?}");
        assert!(!outcome.text().contains("hunter2"), "a schema says what must not be repeated: {outcome:?}");
        told.push_str(&format!("{arguments}\n{}\n", outcome.text()));
    }
    assert!(!told.contains("is not"), "{told}");
    insta::assert_snapshot!(told);
    let many = json!({ "pattern": "x", "words": vec![1; 500] });
    let outcome = runtime.call(ToolCall::new("search", many)).await;
    assert!(outcome.text().lines().count() < 40, "{}", outcome.text());
    assert!(outcome.text().ends_with("more violations"), "{}", outcome.text());
}
