//! What `jq` is asked for.

use jaq_json::Val;

use crate::shell::Shell;
use crate::stop::{Stop, wrong};
use crate::util::input;

#[derive(Default)]
pub struct Request {
    pub filter: Option<String>,
    pub files: Vec<String>,
    pub raw: bool,
    pub join: bool,
    pub compact: bool,
    pub null: bool,
    pub slurp: bool,
    pub raw_input: bool,
    pub sort: bool,
    pub exit_status: bool,
    pub tab: bool,
    pub indent: usize,
    pub variables: Vec<(String, Val)>,
    pub positional: Vec<Val>,
    pub ascii: bool,
}

pub async fn request(shell: &Shell, arguments: &[String]) -> Result<Request, Stop> {
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
    match values(text.as_bytes())?.as_slice() {
        [value] => Ok(value.clone()),
        _ => wrong(2, "Invalid JSON text passed to --argjson"),
    }
}

fn values(text: &[u8]) -> Result<Vec<Val>, Stop> {
    let values = super::own::values(text).into_iter();
    values.map(|value| value.map_err(|error| Stop::Fail(2, format!("error: {error}")))).collect()
}
