//! Components from text, for what no compiler would write.

use toolcell::ToolComponent;

/// A component named `crafted` with one tool, `run`: `module` is the inside of a core module that exports it as
/// `run` and a `memory`, and `result` is the type of what it returns (nothing if empty).
pub fn crafted(module: &str, result: &str) -> ToolComponent {
    let result = if result.is_empty() { String::new() } else { format!("(result {result})") };
    component(&format!(
        r#"(component
            (core module $module {module})
            (core instance $instance (instantiate $module))
            (func (export "run") {result}
                (canon lift (core func $instance "run") (memory $instance "memory"))))"#
    ))
}

/// The same for a result whose type must have a name: an enum or a variant.
pub fn crafted_named(module: &str, result: &str) -> ToolComponent {
    component(&format!(
        r#"(component
            (core module $module {module})
            (core instance $instance (instantiate $module))
            (type $named {result})
            (func $run (result $named)
                (canon lift (core func $instance "run") (memory $instance "memory")))
            (component $naming
                (type $inner {result})
                (import "named" (type $imported (eq $inner)))
                (import "run" (func $run (result $imported)))
                (export $exported "named" (type $imported))
                (export "run" (func $run) (func (result $exported))))
            (instance $api (instantiate $naming (with "named" (type $named)) (with "run" (func $run))))
            (export "test:crafted/api" (instance $api)))"#
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
