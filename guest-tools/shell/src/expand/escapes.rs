//! Backslashes of `echo -e`, `printf` and `$'…'`.

/// Whose rules hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escapes {
    /// `echo -e` and `%b`: an octal number begins with 0; `\c` ends everything.
    Echo,
    /// The format of `printf`.
    Format,
    /// `$'…'`
    Ansi,
}

/// The bytes that a text with backslashes means, and whether `\c` ended it.
pub fn escapes(text: &str, rules: Escapes) -> (Vec<u8>, bool) {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        if letter != '\\' {
            push(&mut bytes, letter);
            continue;
        }
        let Some(kind) = rest.next() else {
            bytes.push(b'\\');
            break;
        };
        match kind {
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            'r' => bytes.push(b'\r'),
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'f' => bytes.push(12),
            'v' => bytes.push(11),
            'e' | 'E' => bytes.push(27),
            '\\' => bytes.push(b'\\'),
            '\'' | '"' | '?' if rules != Escapes::Echo => push(&mut bytes, kind),
            'c' if rules == Escapes::Echo => return (bytes, true),
            'x' => number(&mut rest, &mut bytes, 16, 2, "\\x"),
            'u' => character(&mut rest, &mut bytes, 4),
            'U' => character(&mut rest, &mut bytes, 8),
            '0'..='7' => {
                let count = if rules == Escapes::Echo && kind == '0' { 3 } else { 2 };
                let first =
                    if rules == Escapes::Echo && kind == '0' { 0 } else { kind.to_digit(8).unwrap_or(0) };
                let value = digits(&mut rest, 8, count)
                    .map_or(first, |(value, length)| (first << (3 * length)) + value);
                bytes.push(u8::try_from(value & 255).unwrap_or(0));
            }
            other => {
                bytes.push(b'\\');
                push(&mut bytes, other);
            }
        }
    }
    (bytes, false)
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn push(bytes: &mut Vec<u8>, letter: char) {
    bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
}

/// At most `most` digits, and how many there were.
fn digits(rest: &mut Rest<'_>, base: u32, most: usize) -> Option<(u32, usize)> {
    let (mut value, mut count) = (0, 0);
    while count < most {
        let Some(digit) = rest.peek().and_then(|letter| letter.to_digit(base)) else { break };
        value = value * base + digit;
        count += 1;
        rest.next();
    }
    (count > 0).then_some((value, count))
}

fn number(rest: &mut Rest<'_>, bytes: &mut Vec<u8>, base: u32, most: usize, otherwise: &str) {
    match digits(rest, base, most) {
        Some((value, _)) => bytes.push(u8::try_from(value & 255).unwrap_or(0)),
        None => bytes.extend_from_slice(otherwise.as_bytes()),
    }
}

fn character(rest: &mut Rest<'_>, bytes: &mut Vec<u8>, most: usize) {
    match digits(rest, 16, most).and_then(|(value, _)| char::from_u32(value)) {
        Some(letter) => push(bytes, letter),
        None => bytes.extend_from_slice(b"\\u"),
    }
}
