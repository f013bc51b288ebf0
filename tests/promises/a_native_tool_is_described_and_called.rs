//! A function of the embedder's program takes what its type says, and every provider takes its description.

use serde_json::json;
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

async fn same<A>(arguments: A, _: toolcell::tool::NativeCall) -> Result<A, String> {
    Ok(arguments)
}

fn runtime() -> Runtime {
    built(builder().native(NativeTool::new("sum", "Sums", same::<Sum>)))
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
