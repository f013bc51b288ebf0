//! Components from text, for what no compiler would write.

use toolcell::ToolComponent;

/// A component named `crafted` with one tool, `run`: `module` is the inside of a core module that exports it as
/// `run` and a `memory`, and `result` is the type of what it returns (nothing if empty). The types `e` (an enum of
/// two cases) and `v` (a variant of two) can be named in it.
pub fn crafted(module: &str, result: &str) -> ToolComponent {
    let result = if result.is_empty() { String::new() } else { format!("(result {result})") };
    component(&format!(
        r#"(component
            (type $e (enum "first" "second"))
            (export $e2 "e" (type $e))
            (type $v (variant (case "number" u32) (case "text" string)))
            (export $v2 "v" (type $v))
            (core module $module {module})
            (core instance $instance (instantiate $module))
            (func (export "run") {result}
                (canon lift (core func $instance "run") (memory $instance "memory"))))"#
    ))
}

/// A component named `crafted` from its text.
#[expect(clippy::panic, reason = "a test that cannot set up fails")]
pub fn component(text: &str) -> ToolComponent {
    match wat::parse_str(text) {
        Ok(bytes) => ToolComponent::bytes("crafted", bytes),
        Err(error) => panic!("{error}"),
    }
}
