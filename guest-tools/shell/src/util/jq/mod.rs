//! `jq`, by the interpreter of jaq.

mod own;
mod print;
mod request;
mod rewrite;

use std::cell::RefCell;

use jaq_core::data::HasLut;
use jaq_core::load::parse::Def;
use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Ctx, DataT, Exn, Lut, Vars};
use jaq_json::Val;
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
    let ended = Program::new(&request).run(shell, &request, &filter, values, &mut out).await;
    out.flush().await?;
    let last = match ended? {
        Ended::Over(last) => last,
        Ended::Halted(status) => return Ok(status),
    };
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
    let values = own::values(text);
    if request.slurp { vec![values.into_iter().collect()] } else { values }
}

/// What values may be within each other: each level costs stack wherever they are read, compared or dropped.
const DEEPEST: usize = 512;

/// How deep brackets are within each other, outside of quotes.
fn nesting(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {
                while let Some(byte) = bytes.next().filter(|byte| **byte != b'"') {
                    if *byte == b'\\' {
                        bytes.next();
                    }
                }
            }
            b'[' | b'{' | b'(' => depth += 1,
            b']' | b'}' | b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Filters that are nested deeper are not read: the interpreter goes down into them.
const DEEPEST_FILTER: usize = 60;

/// The name that the filter has for the interpreter.
const MAIN: &str = "main_filter";

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

    /// Runs a filter on each value.
    async fn run(
        &self,
        shell: &Shell,
        request: &Request,
        filter: &str,
        values: Values,
        out: &mut Out,
    ) -> Result<Ended, Stop> {
        let arena = Arena::default();
        let definitions = |text| jaq_core::load::parse(text, |parser| parser.defs()).unwrap_or_default();
        let bad = |what: &str| Stop::Fail(3, format!("error: {what}\njq: 1 compile error"));
        if nesting(filter.as_bytes()) > DEEPEST_FILTER {
            return Err(bad("the filter is nested too deeply"));
        }
        let filter = if filter.trim().is_empty() { "." } else { filter };
        let Some(term) = jaq_core::load::parse(filter, |parser| parser.term()) else {
            return Err(bad(&format!("syntax error in the filter: {filter}")));
        };
        let main = Def { name: MAIN, args: Vec::new(), body: rewrite::rewrite(term) };
        // The text of the filter lives less long than that of the libraries.
        let mut defs: Vec<Def<&str>> = Vec::new();
        for def in jaq_core::defs()
            .chain(jaq_std::defs())
            .chain(jaq_json::defs())
            .chain(definitions(own::DEFINITIONS))
        {
            defs.push(def);
        }
        defs.push(main);
        let modules = Loader::new(defs)
            .load(&arena, File { code: MAIN, path: () })
            .map_err(|_| bad("the filter cannot be loaded"))?;
        let inputs = jaq_std::input::funs().into_vec().into_iter().map(jaq_core::native::run);
        let funs = jaq_core::funs()
            .chain(jaq_std::funs())
            .chain(jaq_json::funs())
            .filter(|(name, ..)| !own::is_replaced(name))
            .chain(inputs)
            .chain(own::functions());
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
        let said = RefCell::default();
        let data = Data { lut: &compiled.lut, values: &values, base: own::stack(), said: &said };
        let mut last = None;
        let mut null = request.null.then_some(Ok(Val::Null));
        while let Some(value) = null.take().or_else(|| data.next(request)) {
            task::turn().await?;
            let value = value.or_else(|message| wrong(2, format!("error (at <stdin>:0): {message}")))?;
            let ctx = Ctx::<Kind>::new(data, Vars::new(self.values.iter().cloned()));
            for result in compiled.id.run((ctx, value)) {
                task::tick()?;
                let words = std::mem::take(&mut *said.borrow_mut());
                if !words.is_empty() {
                    out.flush().await?;
                    shell.stderr().write(&words).await?;
                }
                let value = match result.map_err(Exn::get_err) {
                    Ok(value) => value,
                    // What is no error ends the filter with a status of its own.
                    Err(Err(halt)) => {
                        return Ok(Ended::Halted(halt.get_halt().unwrap_or(5)));
                    }
                    Err(Ok(error)) => {
                        return wrong(
                            5,
                            format!("error (at <stdin>:0): {}", short(&shown(error.into_val()))),
                        );
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
        let words = std::mem::take(&mut *said.borrow_mut());
        out.flush().await?;
        shell.stderr().write(&words).await?;
        Ok(Ended::Over(last))
    }
}

/// How a filter ended.
enum Ended {
    /// By itself; whether its last answer was true, if there was one.
    Over(Option<bool>),
    /// By `halt`, with a status.
    Halted(i32),
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
    /// Where the stack was before the filter ran.
    base: usize,
    /// What the filter said beside its answers.
    said: &'a RefCell<Vec<u8>>,
}

impl Data<'_> {
    fn say(&self, words: &[u8]) {
        self.said.borrow_mut().extend_from_slice(words);
    }

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

fn shown(error: Val) -> String {
    match error {
        Val::TStr(text) => String::from_utf8_lossy(&text).into_owned(),
        other => format!("{} (not a string)", print::compact(&other)),
    }
}

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
