//! The tools that are shipped with the runtime.

use crate::error::{Error, Result};
use crate::schema::nearest;

/// The names of the shipped components.
#[cfg(feature = "builtin-tools")]
pub const BUILTINS: [&str; 7] = ["basics", "fetch", "files", "js", "plan", "shell", "weather"];

/// The names of the shipped components.
#[cfg(not(feature = "builtin-tools"))]
pub const BUILTINS: [&str; 0] = [];

/// The shipped component of that name.
///
/// # Errors
/// When none is shipped under it; names those that are.
pub fn builtin_bytes(name: &str) -> Result<&'static [u8]> {
    // What the compiler of guests is too old for is left empty by their build.
    if builtin(name).is_some_and(<[u8]>::is_empty) {
        let reason = "it is not in this build, whose compiler for tools was too old for it";
        return Err(Error::component(format!("builtin:{name}"), reason));
    }
    builtin(name).ok_or_else(|| {
        let known = BUILTINS.map(|known| format!("`builtin:{known}`")).join(", ");
        let known = if known.is_empty() { "none in this build".to_owned() } else { known };
        Error::component(
            format!("builtin:{name}"),
            format!("there is no such component{}; shipped are: {known}", meant(name)),
        )
    })
}

fn meant(name: &str) -> String {
    let near = nearest(name, BUILTINS);
    near.first().map(|near| format!(", did you mean `builtin:{near}`?")).unwrap_or_default()
}

#[cfg(feature = "builtin-tools")]
fn builtin(name: &str) -> Option<&'static [u8]> {
    match name {
        "basics" => Some(include_bytes!("../../../guest-tools/dist/basics.wasm")),
        "fetch" => Some(include_bytes!("../../../guest-tools/dist/fetch.wasm")),
        "files" => Some(include_bytes!("../../../guest-tools/dist/files.wasm")),
        "js" => Some(include_bytes!("../../../guest-tools/dist/js.wasm")),
        "plan" => Some(include_bytes!("../../../guest-tools/dist/plan.wasm")),
        "shell" => Some(include_bytes!("../../../guest-tools/dist/shell.wasm")),
        "weather" => Some(include_bytes!("../../../guest-tools/dist/weather.wasm")),
        _ => None,
    }
}

#[cfg(not(feature = "builtin-tools"))]
fn builtin(_: &str) -> Option<&'static [u8]> {
    None
}
