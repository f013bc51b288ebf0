//! Cases as they are written, and as they are run.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;
use toolcell::limits::Origin;
use toolcell::policy::StateScope;
use toolcell::{Access, Deterministic, Limit, Limits, ToolCall};

use super::expect::{Expect, RawExpect};

/// More is no file that a person wrote.
const MAX_BYTES: u64 = 16 << 20;

/// A file of cases.
pub(super) struct CaseFile {
    /// As its user would write it.
    pub name: String,
    /// Where it lies; paths in it start here.
    pub folder: PathBuf,
    pub cases: Vec<Case>,
}

/// One call, what it may reach, and what is to come of it.
pub(super) struct Case {
    pub name: String,
    pub line: usize,
    pub tool: Option<String>,
    arguments: Arguments,
    pub session: String,
    meta: BTreeMap<String, String>,
    pub grant: RawGrant,
    limits: Limits,
    pub deterministic: Option<Deterministic>,
    pub expect: Expect,
}

enum Arguments {
    Value(Value),
    Text(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    /// The tool of every case that names none.
    tool: Option<String>,
    #[serde(default)]
    case: Vec<Spanned<RawCase>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCase {
    name: String,
    tool: Option<String>,
    arguments: Option<toml::Value>,
    #[serde(default)]
    session: String,
    #[serde(default)]
    meta: BTreeMap<String, String>,
    #[serde(default)]
    grant: RawGrant,
    #[serde(default)]
    limits: BTreeMap<String, toml::Value>,
    deterministic: Option<String>,
    #[serde(default)]
    expect: RawExpect,
}

/// What a case grants, by the names that `toolcell.toml` has for it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawGrant {
    pub dirs: Vec<RawDir>,
    pub http: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub config: BTreeMap<String, String>,
    pub state: Option<StateScope>,
}

/// A folder of a case: a copy of one on the host, files that stand in the case, or both.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDir {
    pub host: Option<String>,
    pub guest: String,
    pub access: Option<Access>,
    #[serde(default)]
    pub deny: Vec<String>,
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

impl CaseFile {
    /// Reads a file of cases; `here` is the folder that its name is told from.
    pub fn read(path: &Path, here: &Path) -> anyhow::Result<Self> {
        let name = path.strip_prefix(here).unwrap_or(path).display().to_string();
        let length = path.metadata().map_or(0, |metadata| metadata.len());
        if length > MAX_BYTES {
            bail!("{name}: a file of cases has at most 16 MiB, and this has {length} bytes");
        }
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
        let raw: RawFile = toml::from_str(&text).map_err(|error| {
            let at = error.span().map_or(1, |span| line(&text, &span));
            anyhow!("{name}:{at}: {}", error.message().trim().replace('\n', ", "))
        })?;
        let mut cases: Vec<Case> = Vec::new();
        for spanned in raw.case {
            let line = line(&text, &spanned.span());
            let case = Case::new(spanned.into_inner(), line, raw.tool.as_ref());
            let case = case.with_context(|| format!("{name}:{line}"))?;
            if let Some(other) = cases.iter().find(|other| other.name == case.name) {
                bail!("{name}:{line}: the case in line {} is named `{}` too", other.line, case.name);
            }
            cases.push(case);
        }
        let folder = path.parent().unwrap_or(here).to_owned();
        Ok(Self { name, folder, cases })
    }
}

fn line(text: &str, span: &Range<usize>) -> usize {
    1 + text.get(..span.start).unwrap_or(text).matches('\n').count()
}

impl Case {
    fn new(raw: RawCase, line: usize, tool: Option<&String>) -> anyhow::Result<Self> {
        if raw.name.trim().is_empty() {
            bail!("`name` is empty; say what the case shows");
        }
        let deterministic = raw.deterministic.map(|text| text.parse::<Deterministic>()).transpose();
        Ok(Self {
            name: raw.name,
            line,
            tool: raw.tool.or_else(|| tool.cloned()),
            arguments: arguments(raw.arguments)?,
            session: raw.session,
            meta: raw.meta,
            grant: raw.grant,
            limits: limits(&raw.limits)?,
            deterministic: deterministic.map_err(|words| anyhow!("`deterministic`: {words}"))?,
            expect: Expect::new(raw.expect)?,
        })
    }

    /// The call of the case.
    pub fn call(&self, tool: String) -> ToolCall {
        let call = match &self.arguments {
            Arguments::Value(value) => ToolCall::new(tool, value.clone()),
            Arguments::Text(text) => ToolCall::new(tool, text.clone()),
        };
        self.meta.iter().fold(call, |call, (key, value)| call.meta(key, value))
    }

    /// The limits that hold above those of the configuration: those of flags, and then the case's own.
    pub fn limits(&self, flags: &Limits) -> Limits {
        let own = self.limits.iter();
        own.fold(flags.clone(), |limits, (limit, value, origin)| {
            limits.with_origin(limit, value, origin.clone())
        })
    }
}

fn arguments(written: Option<toml::Value>) -> anyhow::Result<Arguments> {
    match written {
        None => Ok(Arguments::Value(Value::Object(Map::new()))),
        Some(toml::Value::String(text)) => Ok(Arguments::Text(text)),
        Some(table @ toml::Value::Table(_)) => Ok(Arguments::Value(json(table))),
        Some(other) => bail!("`arguments` is {}; write a table, or the text of JSON", other.type_str()),
    }
}

fn limits(written: &BTreeMap<String, toml::Value>) -> anyhow::Result<Limits> {
    let mut limits = Limits::new();
    for (name, value) in written {
        let Some(limit) = Limit::from_name(name) else {
            let known = Limit::ALL.map(Limit::name).join("`, `");
            bail!("`limits.{name}`: unknown limit; known are `{known}`");
        };
        let text = match value {
            toml::Value::String(text) => text.clone(),
            toml::Value::Integer(number) => number.to_string(),
            other => bail!("`limits.{name}` is {}; write it as \"5s\", \"64MiB\" or 1000", other.type_str()),
        };
        let value = limit.parse(&text).map_err(|words| anyhow!("`limits.{name}`: {words}"))?;
        limits = limits.with_origin(limit, value, Origin::setting(format!("case.limits.{name}")));
    }
    Ok(limits)
}

/// A value of TOML as JSON; dates are text there.
pub(super) fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(truth) => truth.into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(items) => items.into_iter().map(json).collect(),
        toml::Value::Table(table) => {
            Value::Object(table.into_iter().map(|(key, value)| (key, json(value))).collect())
        }
    }
}
