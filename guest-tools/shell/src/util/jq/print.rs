//! Values as `jq` writes them.

use std::fmt::Write as _;

use jaq_json::{Num, Val};

use super::request::Request;

/// A value as an option says, without the end of a line.
pub fn print(request: &Request, value: &Val, out: &mut String) {
    match value {
        Val::TStr(text) if request.raw => out.push_str(&String::from_utf8_lossy(text)),
        _ => json(request, value, 0, out),
    }
}

/// A value in the least letters.
pub fn compact(value: &Val) -> String {
    let mut text = String::new();
    json(&Request { compact: true, ..Request::default() }, value, 0, &mut text);
    text
}

/// Deeper values are cut: each level costs stack.
const DEEPEST: usize = 200;

fn json(request: &Request, value: &Val, level: usize, out: &mut String) {
    let pretty = !request.compact && (request.tab || request.indent > 0);
    let line = |out: &mut String, level: usize| {
        if pretty {
            out.push('\n');
            out.push_str(&if request.tab { "\t".repeat(level) } else { " ".repeat(level * request.indent) });
        }
    };
    if level > DEEPEST {
        out.push_str("\"<skipped: too deep>\"");
        return;
    }
    match value {
        Val::Null => out.push_str("null"),
        Val::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Val::Num(number) => out.push_str(&numeral(number)),
        Val::BStr(text) | Val::TStr(text) => string(request, &String::from_utf8_lossy(text), out),
        Val::Arr(items) if items.is_empty() => out.push_str("[]"),
        Val::Arr(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                line(out, level + 1);
                json(request, item, level + 1, out);
            }
            line(out, level);
            out.push(']');
        }
        Val::Obj(members) if members.is_empty() => out.push_str("{}"),
        Val::Obj(members) => {
            out.push('{');
            let mut members: Vec<(&Val, &Val)> = members.iter().collect();
            if request.sort {
                members.sort_by(|one, other| one.0.cmp(other.0));
            }
            for (index, (key, item)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                line(out, level + 1);
                json(request, key, level + 1, out);
                out.push_str(if pretty { ": " } else { ":" });
                json(request, item, level + 1, out);
            }
            line(out, level);
            out.push('}');
        }
    }
}

/// Whole numbers without a point, whatever they were computed as.
fn numeral(number: &Num) -> String {
    match number {
        Num::Float(value) if value.is_nan() => "null".to_owned(),
        Num::Float(value) if value.is_infinite() => {
            format!("{}1.7976931348623157e+308", if *value < 0.0 { "-" } else { "" })
        }
        Num::Float(value) if value.fract() == 0.0 && value.abs() < 1e17 => format!("{value:.0}"),
        Num::Float(value) if value.abs() >= 1e17 || value.abs() < 1e-5 => {
            let text = format!("{value:e}");
            match text.split_once('e') {
                Some((mantissa, exponent)) if !exponent.starts_with('-') => {
                    format!("{mantissa}e+{exponent:0>2}")
                }
                Some((mantissa, exponent)) => format!("{mantissa}e-{:0>2}", exponent.trim_start_matches('-')),
                None => text,
            }
        }
        Num::Float(value) => value.to_string(),
        Num::Dec(text) if text.contains(['.', 'e', 'E']) => {
            text.parse::<f64>().map_or_else(|_| text.to_string(), |value| numeral(&Num::Float(value)))
        }
        other => other.to_string(),
    }
}

fn string(request: &Request, text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            letter if u32::from(letter) < 32 || u32::from(letter) == 127 => push_unicode(out, letter),
            letter if request.ascii && !letter.is_ascii() => push_unicode(out, letter),
            letter => out.push(letter),
        }
    }
    out.push('"');
}

fn push_unicode(out: &mut String, letter: char) {
    for unit in letter.encode_utf16(&mut [0; 2]) {
        // Writing to a text does not fail.
        let _written = write!(out, "\\u{unit:04x}");
    }
}
