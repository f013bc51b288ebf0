//! Words as a shell reads them back.

/// In quotes only where it needs them, in the manner of `printf %q`.
pub fn escaped(text: &str) -> String {
    if text.is_empty() {
        return "''".to_owned();
    }
    if text.chars().any(char::is_control) {
        return ansi(text);
    }
    let mut quoted = String::new();
    for (index, letter) in text.chars().enumerate() {
        if " !\"#$&'()*,;<>?[\\]^`{|}~".contains(letter)
            && !(letter == '#' && index > 0)
            && !(letter == '~' && index > 0)
        {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted
}

/// In single quotes only where it needs them, in the manner of `set -x`.
pub fn traced(text: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./:=@%+,".contains(letter);
    if !text.is_empty() && text.chars().all(plain) { text.to_owned() } else { always(text) }
}

/// Always in single quotes.
pub fn always(text: &str) -> String {
    if text.chars().any(|letter| letter.is_control() && letter != '\n' && letter != '\t') {
        return ansi(text);
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// In double quotes, in the manner of `declare -p`.
pub fn double(text: &str) -> String {
    if text.chars().any(char::is_control) {
        return ansi(text);
    }
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        if matches!(letter, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted.push('"');
    quoted
}

fn ansi(text: &str) -> String {
    let mut quoted = String::from("$'");
    for letter in text.chars() {
        match letter {
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            '\'' => quoted.push_str("\\'"),
            '\\' => quoted.push_str("\\\\"),
            letter if letter.is_control() => quoted.push_str(&format!("\\{:03o}", u32::from(letter))),
            letter => quoted.push(letter),
        }
    }
    quoted.push('\'');
    quoted
}
