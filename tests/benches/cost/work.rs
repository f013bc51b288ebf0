//! The work that every subject does, and the component without WASI beside the small guest.

use serde_json::{Value, json};
use toolcell_tests::guest;

/// Returns its argument, and imports nothing.
pub const BARE: &str = r#"
(component
  (core module $module
    (memory (export "memory") 1)
    (global $next (mut i32) (i32.const 1024))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (local $at i32)
      (local.set $at (global.get $next))
      (global.set $next (i32.add (global.get $next) (local.get 3)))
      (local.get $at))
    (func (export "echo") (param i32 i32) (result i32)
      (i32.store (i32.const 0) (local.get 0))
      (i32.store (i32.const 4) (local.get 1))
      (i32.const 0)))
  (core instance $instance (instantiate $module))
  (func (export "echo") (param "text" string) (result string)
    (canon lift (core func $instance "echo")
      (memory $instance "memory") (realloc (func $instance "realloc")))))
"#;

/// One thing to be done.
#[derive(Clone)]
pub enum Work {
    /// By the component without WASI.
    Echo(String),
    Sum(i64, i64),
    Repeat(String),
    Digest(u32),
    Values(String),
    Content(String),
    Take(u32),
}

impl Work {
    /// The function in the component, and the tool's name.
    pub fn function(&self) -> &'static str {
        match self {
            Self::Echo(_) => "echo",
            Self::Sum(..) => "sum",
            Self::Repeat(_) => "repeat",
            Self::Digest(_) => "digest",
            Self::Values(_) => "values",
            Self::Content(_) => "content",
            Self::Take(_) => "take",
        }
    }

    pub fn arguments(&self) -> Value {
        match self {
            Self::Echo(text) | Self::Repeat(text) => json!({ "text": text }),
            Self::Sum(a, b) => json!({ "a": a, "b": b }),
            Self::Digest(mib) => json!({ "mib": mib }),
            Self::Values(text) => json!({ "json": text }),
            Self::Content(path) => json!({ "path": path }),
            Self::Take(kib) => json!({ "kib": kib }),
        }
    }

    pub fn component(&self) -> Vec<u8> {
        match self {
            Self::Echo(_) => wat::parse_str(BARE).unwrap(),
            _ => std::fs::read(guest("kernel")).unwrap(),
        }
    }
}

/// So many bytes of words in lines.
pub fn text(bytes: usize) -> String {
    let line = "The quick brown fox jumps over the lazy dog, and again it does; nobody knows why.\n";
    line.repeat(bytes.div_ceil(line.len())).chars().take(bytes).collect()
}

/// A JSON document of about so many bytes.
pub fn document(bytes: usize) -> String {
    let one =
        json!({ "id": 4711, "name": "a name of some length", "tags": ["one", "two"], "on": true, "at": 1.5 });
    let count = bytes / one.to_string().len();
    Value::Array(vec![one; count]).to_string()
}
