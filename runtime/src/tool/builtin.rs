//! The tools that are shipped with the runtime.

use std::borrow::Cow;
use std::path::Path;

use super::content::Content;
use crate::config::{is_beside, shipped_file};
use crate::error::{Error, Result};
use crate::schema::nearest;

/// The names of the shipped components.
#[cfg(feature = "builtin-tools")]
pub const BUILTINS: [&str; 8] = ["basics", "fetch", "files", "js", "plan", "python", "shell", "weather"];

/// The names of the shipped components.
#[cfg(not(feature = "builtin-tools"))]
pub const BUILTINS: [&str; 1] = ["python"];

/// The shipped component of that name.
///
/// # Errors
/// When none is shipped under it; names those that are. When it is a file beside the program, and there is none.
pub fn builtin_bytes(name: &str) -> Result<Cow<'static, [u8]>> {
    builtin_content(name).map(|content| content.bytes)
}

/// The same, with what tells whether it was looked at before.
pub(super) fn builtin_content(name: &str) -> Result<Content> {
    if let Some(file) = shipped_file(name) {
        return of_shipped(name, &file);
    }
    if is_beside(name) {
        let reason = "it is a file beside the program, whose place cannot be found out (is /proc there?)";
        return Err(Error::component(format!("builtin:{name}"), reason));
    }
    let Some(bytes) = builtin(name) else {
        let known = BUILTINS.map(|known| format!("`builtin:{known}`")).join(", ");
        let message = format!("there is no such component{}; shipped are: {known}", meant(name));
        return Err(Error::component(format!("builtin:{name}"), message));
    };
    // What the compiler of guests is too old for is left empty by their build.
    if bytes.is_empty() {
        let reason = "it is not in this build, whose compiler for tools was too old for it";
        return Err(Error::component(format!("builtin:{name}"), reason));
    }
    Ok(Content::of_builtin(name, bytes))
}

fn of_shipped(name: &str, file: &Path) -> Result<Content> {
    if !file.exists() {
        let message = format!(
            "it is not in the program but a file beside it, and there is no {}; `make guests-{name}` in toolcell's \
             source builds guest-tools/dist/{name}.wasm: put that there, or give its path in place of `builtin:{name}`",
            file.display()
        );
        return Err(Error::component(format!("builtin:{name}"), message));
    }
    Content::of_file(file)
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
