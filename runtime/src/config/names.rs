//! The names that components and tools may have.

/// What providers of models accept as a tool's name; components' names are parts of some.
const MAX_NAME: usize = 64;

/// Whether `name` can be a component's.
pub(super) fn component_name_fits(name: &str) -> Result<(), String> {
    name_fits(name, |byte| byte == b'_' || byte == b'-').map_err(|()| {
        "a component's name is a lower-case letter, then lower-case letters, digits, `-` and `_`, at most 64"
            .to_owned()
    })
}

/// Whether `name` can be a tool's, or the beginning of one.
pub(super) fn tool_name_fits(name: &str) -> Result<(), String> {
    name_fits(name, |byte| byte == b'_').map_err(|()| {
        "a tool's name is a lower-case letter, then lower-case letters, digits and `_`, at most 64".to_owned()
    })
}

fn name_fits(name: &str, is_mark: impl Fn(u8) -> bool) -> Result<(), ()> {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase());
    let rest = bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || is_mark(byte));
    if first && rest && name.len() <= MAX_NAME { Ok(()) } else { Err(()) }
}
