//! The tools that are shipped with the runtime.

/// The names of the shipped components.
#[cfg(feature = "builtin-tools")]
pub const BUILTINS: [&str; 2] = ["basics", "files"];

/// The names of the shipped components.
#[cfg(not(feature = "builtin-tools"))]
pub const BUILTINS: [&str; 0] = [];

/// The component of that name.
#[cfg(feature = "builtin-tools")]
pub(crate) fn builtin(name: &str) -> Option<&'static [u8]> {
    match name {
        "basics" => Some(include_bytes!("../../../guest-tools/dist/basics.wasm")),
        "files" => Some(include_bytes!("../../../guest-tools/dist/files.wasm")),
        _ => None,
    }
}

/// The component of that name.
#[cfg(not(feature = "builtin-tools"))]
pub(crate) fn builtin(_: &str) -> Option<&'static [u8]> {
    None
}
