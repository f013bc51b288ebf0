//! The component's side: WIT in, arithmetic out.

use crate::{expression, finite};

mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "basics", generate_all });
}

struct Component;

bindings::export!(Component with_types_in bindings);

impl bindings::Guest for Component {
    fn echo(text: String) -> String {
        text
    }

    fn add(a: f64, b: f64) -> Result<f64, String> {
        finite(a + b)
    }

    fn multiply(a: f64, b: f64) -> Result<f64, String> {
        finite(a * b)
    }

    fn calculate(expression: String) -> Result<f64, String> {
        expression::evaluate(&expression).map_err(|error| error.to_string())
    }
}
