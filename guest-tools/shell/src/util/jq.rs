//! `jq`, by the interpreter of jaq.

use std::fmt::Write as _;

use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Ctx, Vars, data, unwrap_valr};
use jaq_json::{Num, Val, read};

use super::input;
use crate::shell::Shell;
use crate::stop::{Status, Stop, wrong};
use crate::stream::Out;

#[derive(Default)]
struct Request {
    filter: Option<String>,
    files: Vec<String>,
    raw: bool,
    join: bool,
    compact: bool,
    null: bool,
    slurp: bool,
    raw_input: bool,
    sort: bool,
    exit_status: bool,
    tab: bool,
    indent: usize,
    variables: Vec<(String, Val)>,
    positional: Vec<Val>,
    ascii: bool,
}

async fn request(shell: &Shell, arguments: &[String]) -> Result<Request, Stop> {
    let mut request = Request { indent: 2, ..Request::default() };
    let mut rest = arguments.iter();
    let mut positional = None;
    let (mut file_filter, mut options) = (None, true);
    while let Some(argument) = rest.next() {
        let mut value = || match rest.next() {
            Some(value) => Ok(value.clone()),
            None => wrong(2, format!("{argument} takes a parameter")),
        };
        if !options || !argument.starts_with('-') || argument == "-" {
            match (&request.filter, &file_filter, positional) {
                (None, None, _) => request.filter = Some(argument.clone()),
                (_, _, Some(json)) => {
                    request.positional.push(if json { parse(argument)? } else { Val::from(argument.clone()) })
                }
                _ => request.files.push(argument.clone()),
            }
            continue;
        }
        match argument.as_str() {
            "--" => options = false,
            "--arg" => {
                let (name, text) = (value()?, value()?);
                request.variables.push((name, Val::from(text)));
            }
            "--argjson" => {
                let (name, text) = (value()?, value()?);
                request.variables.push((name, parse(&text)?));
            }
            "--slurpfile" | "--rawfile" => {
                let (name, file) = (value()?, value()?);
                let text = input::whole(shell, &file).await?;
                let value = if argument == "--rawfile" {
                    Val::from(String::from_utf8_lossy(&text).into_owned())
                } else {
                    values(&text)?.into_iter().collect()
                };
                request.variables.push((name, value));
            }
            "--args" => positional = Some(false),
            "--jsonargs" => positional = Some(true),
            "--indent" => match value()?.parse() {
                Ok(indent) if indent <= 7 => request.indent = indent,
                _ => return wrong(2, "Cannot indent more than 7 characters"),
            },
            "--from-file" => file_filter = Some(value()?),
            "--tab" => request.tab = true,
            "--raw-output" => request.raw = true,
            "--join-output" => (request.raw, request.join) = (true, true),
            "--compact-output" => request.compact = true,
            "--null-input" => request.null = true,
            "--slurp" => request.slurp = true,
            "--raw-input" => request.raw_input = true,
            "--sort-keys" => request.sort = true,
            "--exit-status" => request.exit_status = true,
            "--monochrome-output" | "--color-output" | "--unbuffered" => {}
            "--ascii-output" => request.ascii = true,
            long if long.starts_with("--") => return wrong(2, format!("Unknown arguments\n{long}")),
            letters => {
                for letter in letters.chars().skip(1) {
                    match letter {
                        'r' => request.raw = true,
                        'j' => (request.raw, request.join) = (true, true),
                        'c' => request.compact = true,
                        'n' => request.null = true,
                        's' => request.slurp = true,
                        'R' => request.raw_input = true,
                        'S' => request.sort = true,
                        'e' => request.exit_status = true,
                        'a' => request.ascii = true,
                        'M' | 'C' => {}
                        'f' => file_filter = Some(value()?),
                        other => return wrong(2, format!("Unknown arguments\n-{other}")),
                    }
                }
            }
        }
    }
    if let Some(name) = file_filter {
        request.files.splice(0..0, request.filter.take());
        request.filter = Some(String::from_utf8_lossy(&input::whole(shell, &name).await?).into_owned());
    }
    Ok(request)
}

fn parse(text: &str) -> Result<Val, Stop> {
    read::parse_single(text.as_bytes())
        .map_err(|error| Stop::Fail(2, format!("Invalid JSON text passed to --argjson: {error}")))
}

fn values(text: &[u8]) -> Result<Vec<Val>, Stop> {
    read::parse_many(text)
        .map(|value| value.map_err(|error| Stop::Fail(2, format!("error: {error}"))))
        .collect()
}

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    let request = request(shell, arguments).await?;
    let filter = request.filter.clone().unwrap_or_else(|| ".".to_owned());
    let (mut status, mut text) = (0, Vec::new());
    if !request.null || !request.files.is_empty() {
        for name in if request.files.is_empty() { vec!["-".to_owned()] } else { request.files.clone() } {
            match input::whole(shell, &name).await {
                Ok(mut bytes) => text.append(&mut bytes),
                Err(Stop::Fail(_, message)) => {
                    shell.warn(format!("jq: error: Could not open {message}")).await?;
                    status = 2;
                }
                Err(stop) => return Err(stop),
            }
        }
    }
    let mut broken = None;
    let inputs = if request.null { vec![Val::Null] } else { inputs(&request, &text, &mut broken) };
    let program = Program::new(&request);
    let mut out = shell.out();
    let (answers, failure) = program.run(&request, &filter, inputs, &mut out).await?;
    out.flush().await?;
    if let Some(message) = failure {
        return wrong(5, format!("error (at <stdin>:0): {message}"));
    }
    if let Some(message) = broken {
        return wrong(5, format!("error: {message}"));
    }
    if request.exit_status && status == 0 {
        status = match answers {
            None => 4,
            Some(true) => 0,
            Some(false) => 1,
        };
    }
    Ok(status)
}

fn inputs(request: &Request, text: &[u8], broken: &mut Option<String>) -> Vec<Val> {
    if request.raw_input {
        let text = String::from_utf8_lossy(text);
        return if request.slurp {
            vec![Val::from(text.into_owned())]
        } else {
            text.lines().map(|line| Val::from(line.to_owned())).collect()
        };
    }
    let mut values = Vec::new();
    for value in read::parse_many(text) {
        match value {
            Ok(value) => values.push(value),
            Err(error) => {
                *broken = Some(error.to_string());
                break;
            }
        }
    }
    if request.slurp && broken.is_none() { vec![values.into_iter().collect()] } else { values }
}

/// What the language has beside the interpreter's own.
const FORMATS: &str = r#"
def @csv: map(
  if . == null then "" elif type == "string" then "\"" + (split("\"") | join("\"\"")) + "\""
  elif type == "number" or type == "boolean" then tojson
  else error("\(type) is not valid in a csv row") end) | join(",");
def @tsv: map(
  if . == null then "" elif type == "string" then
    split("\\") | join("\\\\") | split("\t") | join("\\t") | split("\n") | join("\\n") | split("\r") | join("\\r")
  elif type == "number" or type == "boolean" then tojson
  else error("\(type) is not valid in a tsv row") end) | join("\t");
"#;

struct Program {
    names: Vec<String>,
    values: Vec<Val>,
}

impl Program {
    fn new(request: &Request) -> Self {
        let mut names: Vec<String> = request.variables.iter().map(|(name, _)| format!("${name}")).collect();
        let mut values: Vec<Val> = request.variables.iter().map(|(_, value)| value.clone()).collect();
        let named =
            request.variables.iter().map(|(name, value)| (Val::from(name.clone()), value.clone())).collect();
        let positional: Val = request.positional.iter().cloned().collect();
        names.push("$ARGS".to_owned());
        values.push(Val::obj(
            [
                (Val::from("positional".to_owned()), positional),
                (Val::from("named".to_owned()), Val::obj(named)),
            ]
            .into_iter()
            .collect(),
        ));
        Self { names, values }
    }

    /// Runs a filter on each input; gives whether the last answer was true, and why it failed.
    async fn run(
        &self,
        request: &Request,
        filter: &str,
        inputs: Vec<Val>,
        out: &mut Out,
    ) -> Result<(Option<bool>, Option<String>), Stop> {
        let arena = Arena::default();
        let own = jaq_core::load::parse(FORMATS, |parser| parser.defs()).unwrap_or_default();
        let defs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs()).chain(own);
        let loader = Loader::new(defs);
        let bad = |what: &str| Stop::Fail(3, format!("error: {what}\njq: 1 compile error"));
        let modules = loader.load(&arena, File { code: filter, path: () }).map_err(|errors| {
            let _ = errors;
            bad(&format!("syntax error in the filter: {filter}"))
        })?;
        let funs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
        let compiler = jaq_core::Compiler::default()
            .with_funs(funs)
            .with_global_vars(self.names.iter().map(String::as_str));
        let compiled = compiler.compile(modules).map_err(|errors| {
            let unknown: Vec<String> = errors
                .iter()
                .flat_map(|(_, errors)| {
                    errors.iter().map(|(name, kind)| format!("{name} is not defined ({})", kind.as_str()))
                })
                .collect();
            bad(&unknown.join(", "))
        })?;
        let mut last = None;
        for value in inputs {
            crate::task::tick()?;
            let ctx = Ctx::<data::JustLut<Val>>::new(&compiled.lut, Vars::new(self.values.iter().cloned()));
            for result in compiled.id.run((ctx, value)).map(unwrap_valr) {
                crate::task::tick()?;
                match result {
                    Ok(value) => {
                        last = Some(!matches!(value, Val::Null | Val::Bool(false)));
                        let mut line = String::new();
                        print(request, &value, &mut line);
                        if !request.join {
                            line.push('\n');
                        }
                        out.put(line);
                        out.check().await?;
                    }
                    Err(error) => return Ok((last, Some(error.to_string()))),
                }
            }
        }
        Ok((last, None))
    }
}

fn print(request: &Request, value: &Val, out: &mut String) {
    match value {
        Val::TStr(text) if request.raw => out.push_str(&String::from_utf8_lossy(text)),
        _ => json(request, value, 0, out),
    }
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
