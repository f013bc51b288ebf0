//! Names of headers.

/// The longest name that an operator or a server may give a header.
const MAX_NAME: usize = 128;

/// Whether `name` can be that of a header: a token of HTTP, of bounded length.
pub(crate) fn is_header_name(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(is_token)
}
