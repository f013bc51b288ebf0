//! `jq`, by the interpreter of jaq.

mod print;
mod request;

use jaq_core::data::HasLut;
use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Ctx, DataT, Lut, Vars, unwrap_valr};
use jaq_json::{Val, read};
use jaq_std::input::{HasInputs, Inputs, RcIter};
use print::print;
use request::{Request, request};

use super::input;
use crate::shell::Shell;
use crate::stop::{Status, Stop, wrong};
use crate::stream::Out;
use crate::task;

/// Values to filter, and why there are no more of them.
type Values = Vec<Result<Val, String>>;

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    let request = request(shell, arguments).await?;
    let filter = request.filter.clone().unwrap_or_else(|| ".".to_owned());
    let (mut status, mut text) = (0, Vec::new());
    // Without input of its own, a filter may still ask for some.
    if !request.null || filter.contains("input") {
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
    let values = values(&request, &text);
    let mut out = shell.out();
    let ended = Program::new(&request).run(&request, &filter, values, &mut out).await;
    out.flush().await?;
    let last = ended?;
    if request.exit_status && status == 0 {
        status = match last {
            None => 4,
            Some(true) => 0,
            Some(false) => 1,
        };
    }
    Ok(status)
}

fn values(request: &Request, text: &[u8]) -> Values {
    if request.raw_input {
        let text = String::from_utf8_lossy(text);
        return if request.slurp {
            vec![Ok(Val::from(text.into_owned()))]
        } else {
            text.lines().map(|line| Ok(Val::from(line.to_owned()))).collect()
        };
    }
    let values = read::parse_many(text).map(|value| value.map_err(|error| format!("error: {error}")));
    if request.slurp {
        return vec![values.collect()];
    }
    let mut broken = false;
    values.take_while(|value| !std::mem::replace(&mut broken, value.is_err())).collect()
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
def input_line_number: 0;
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

    /// Runs a filter on each value; gives whether the last answer was true, if there was one.
    async fn run(
        &self,
        request: &Request,
        filter: &str,
        values: Values,
        out: &mut Out,
    ) -> Result<Option<bool>, Stop> {
        let arena = Arena::default();
        let own = jaq_core::load::parse(FORMATS, |parser| parser.defs()).unwrap_or_default();
        let defs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs()).chain(own);
        let bad = |what: &str| Stop::Fail(3, format!("error: {what}\njq: 1 compile error"));
        let modules = Loader::new(defs)
            .load(&arena, File { code: filter, path: () })
            .map_err(|_| bad(&format!("syntax error in the filter: {filter}")))?;
        let inputs = jaq_std::input::funs().into_vec().into_iter().map(jaq_core::native::run);
        let funs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs()).chain(inputs);
        let compiler = jaq_core::Compiler::default()
            .with_funs(funs)
            .with_global_vars(self.names.iter().map(String::as_str));
        let compiled = compiler.compile(modules).map_err(|errors| {
            let errors = errors.iter().flat_map(|(_, errors)| errors);
            let unknown: Vec<String> =
                errors.map(|(name, kind)| format!("{name} is not defined ({})", kind.as_str())).collect();
            bad(&unknown.join(", "))
        })?;
        let values = RcIter::new(values.into_iter());
        let data = Data { lut: &compiled.lut, values: &values };
        let mut last = None;
        let mut null = request.null.then_some(Ok(Val::Null));
        while let Some(value) = null.take().or_else(|| data.next(request)) {
            task::turn().await?;
            let value = value.or_else(|message| wrong(5, message))?;
            let ctx = Ctx::<Kind>::new(data, Vars::new(self.values.iter().cloned()));
            for result in compiled.id.run((ctx, value)).map(unwrap_valr) {
                task::tick()?;
                let value = match result {
                    Ok(value) => value,
                    Err(error) => {
                        return wrong(5, format!("error (at <stdin>:0): {}", short(&error.to_string())));
                    }
                };
                last = Some(!matches!(value, Val::Null | Val::Bool(false)));
                let mut line = String::new();
                print(request, &value, &mut line);
                if !request.join {
                    line.push('\n');
                }
                out.put(line);
                out.check().await?;
            }
        }
        Ok(last)
    }
}

/// What filters work on.
struct Kind;

impl DataT for Kind {
    type V<'a> = Val;
    type Data<'a> = Data<'a>;
}

/// What filters reach beside their value.
#[derive(Clone, Copy)]
struct Data<'a> {
    lut: &'a Lut<Kind>,
    values: Inputs<'a, Val>,
}

impl Data<'_> {
    /// The next value to filter; none where the filter asks for them itself.
    fn next(&self, request: &Request) -> Option<Result<Val, String>> {
        let mut values = self.values;
        if request.null { None } else { values.next() }
    }
}

impl<'a> HasLut<'a, Kind> for Data<'a> {
    fn lut(&self) -> &'a Lut<Kind> {
        self.lut
    }
}

impl<'a> HasInputs<'a, Val> for Data<'a> {
    fn inputs(&self) -> Inputs<'a, Val> {
        self.values
    }
}

/// An error names the value at which it happened, which may be everything.
const SHOWN: usize = 200;

fn short(error: &str) -> String {
    let mut letters = error.chars();
    let mut text: String = letters.by_ref().take(SHOWN).collect();
    if letters.next().is_some() {
        let end: Vec<char> = error.chars().rev().take(SHOWN / 4).collect();
        text.push_str(" … ");
        text.extend(end.into_iter().rev());
    }
    text
}
