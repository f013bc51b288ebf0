//! What the language has beside, or instead of, the interpreter's own.

use jaq_core::box_iter::box_once;
use jaq_core::native::{Filter, Fun, run, v};
use jaq_core::{Error, Exn, RunPtr};
use jaq_json::{Num, Val, read};

use super::print::compact;
use super::{Kind, nesting};

/// Formats and conversions by [`compact`], which writes numbers as `jq` does.
pub const DEFINITIONS: &str = r#"
def tostring: written;
def @text: tostring;
def @json: tojson;
def @html: tostring | escape_html;
def @uri: tostring | encode_uri;
def @base64: tostring | encode_base64;
def @base64d: tostring | decode_base64;
def @sh: [if isarray then .[] end | if . >= "" then "'\(escape_sh)'" else tostring end] | join(" ");
def join($s): .[] |= tostring | .[:-1][] += $s | reduce .[] as $x (""; . + $x);
def @csv: map(
  if . == null then "" elif type == "string" then "\"" + (split("\"") | join("\"\"")) + "\""
  elif type == "number" or type == "boolean" then tojson
  else error("\(type) is not valid in a csv row") end) | join(",");
def @tsv: map(
  if . == null then "" elif type == "string" then
    split("\\") | join("\\\\") | split("\t") | join("\\t") | split("\n") | join("\\n") | split("\r") | join("\\r")
  elif type == "number" or type == "boolean" then tojson
  else error("\(type) is not valid in a tsv row") end) | join("\t");
def halt: halt(0);
def halt_error($code): last_words, halt($code);
def halt_error: halt_error(5);
def ascii: [.] | implode;
def leaf_paths: paths(scalars);
def input_filename: null;
def input_line_number: 0;
def IN(s): any(s == .; .);
def IN(s; t): any(s == t; .);
def INDEX(s; f): reduce s as $row ({}; .[$row | f | tostring] |= $row);
def INDEX(f): INDEX(.[]; f);
def GROUP_BY(f): group_by(f);
def tostream: path(def r: (.[]? | r), .; r) as $p | getpath($p)
  | reduce path(.[]?) as $q ([$p, .]; [$p + $q]);
"#;

/// With more of the stack in use, no definition is called. In a component it has 1 MiB in its memory, and of the host's a
/// call has 512 KiB by default, which the interpreter takes at the same pace. Frames of a test's build are far larger.
const STACK: usize = if cfg!(target_os = "wasi") { 256 << 10 } else { 1 << 20 };

/// Where the stack is.
#[inline(never)]
pub fn stack() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

fn raw(value: &Val) -> Vec<u8> {
    match value {
        Val::TStr(text) => text.to_vec(),
        value => compact(value).into_bytes(),
    }
}

/// A whole number for a float that is one.
fn whole(value: Val) -> Val {
    match value {
        // The digits of the text are those of the number.
        Val::Num(Num::Float(float)) if float.fract() == 0.0 && float.abs() < 1e15 => {
            format!("{float:.0}").parse().map_or(value, |number: isize| Val::Num(Num::Int(number)))
        }
        value => value,
    }
}

fn whole_part(value: Val) -> Val {
    match &value {
        Val::Num(Num::Float(float)) => whole(Val::Num(Num::Float(float.trunc()))),
        Val::Num(Num::Dec(text)) => {
            let float = text.parse::<f64>().map_or(f64::NAN, f64::trunc);
            whole(Val::Num(Num::Float(float)))
        }
        _ => value,
    }
}

/// The functions, which come behind the interpreter's, less those that they replace.
pub fn functions() -> impl Iterator<Item = Fun<Kind>> {
    let own: [Filter<RunPtr<Kind>>; 9] = [
        ("stack_depth", v(0), |(ctx, value)| {
            let deep = ctx.data().base.saturating_sub(stack()) > STACK;
            let error =
                || Exn::from(Error::new(Val::from("definitions call each other too deeply".to_owned())));
            box_once(if deep { Err(error()) } else { Ok(value) })
        }),
        ("whole_quotient", v(0), |(_, value)| box_once(Ok(whole(value)))),
        ("whole_part", v(0), |(_, value)| box_once(Ok(whole_part(value)))),
        ("written", v(0), |(_, value)| {
            box_once(Ok(match value {
                Val::TStr(_) => value,
                value => Val::from(compact(&value)),
            }))
        }),
        ("tojson", v(0), |(_, value)| box_once(Ok(Val::from(compact(&value))))),
        ("fromjson", v(0), |(_, value)| {
            let Val::TStr(text) = &value else {
                return box_once(Err(Exn::from(Error::typ(value, "string"))));
            };
            let wrong = |message| Exn::from(Error::new(Val::from(format!("{message} (while parsing JSON)"))));
            Box::new(values(text).into_iter().map(move |value| value.map_err(wrong)))
        }),
        ("stderr_empty", v(0), |(ctx, value)| {
            ctx.data().say(&raw(&value));
            Box::new(std::iter::empty())
        }),
        ("debug_empty", v(0), |(ctx, value)| {
            ctx.data().say(format!("[\"DEBUG:\",{}]\n", compact(&value)).as_bytes());
            Box::new(std::iter::empty())
        }),
        ("last_words", v(0), |(ctx, value)| {
            let mut bytes = raw(&value);
            if !matches!(value, Val::TStr(_)) {
                bytes.push(b'\n');
            }
            ctx.data().say(&bytes);
            Box::new(std::iter::empty())
        }),
    ];
    own.into_iter().map(|(name, arity, function)| run::<Kind>((name, arity, function)))
}

/// Whether one of the interpreter's functions is replaced.
pub fn is_replaced(name: &str) -> bool {
    matches!(name, "tojson" | "fromjson" | "stderr_empty" | "debug_empty")
}

/// The values of a text, or why it has none.
pub fn values(text: &[u8]) -> Vec<Result<Val, String>> {
    if nesting(text) > super::DEEPEST {
        return vec![Err("Exceeds depth limit for parsing".to_owned())];
    }
    let mut broken = false;
    read::parse_many(text)
        .map(|value| value.map_err(|error| error.to_string()))
        .take_while(|value| !std::mem::replace(&mut broken, value.is_err()))
        .collect()
}
