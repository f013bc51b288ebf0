//! `toolcell audit`

mod lines;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use toolcell::audit::{Audit, Hash, Verification, verify};
use toolcell::config::{Environment, Key};

use crate::terminal::{Label, print_json, print_line, say};
use crate::toolset::read;

#[derive(Args)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List recorded calls, by the time at which they came in
    Show {
        #[command(flatten)]
        place: PlaceArgs,
        #[command(flatten)]
        filter: lines::FilterArgs,
        /// Print one JSON document and nothing else
        #[arg(long)]
        json: bool,
    },
    /// List the latest recorded calls, and go on with those that come
    Tail {
        #[command(flatten)]
        place: PlaceArgs,
        #[command(flatten)]
        filter: lines::FilterArgs,
        /// How many calls
        #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 10)]
        lines: usize,
        /// Go on until interrupted
        #[arg(short, long)]
        follow: bool,
        /// Print the lines as they are recorded, one JSON document each
        #[arg(long)]
        json: bool,
    },
    /// Check that nothing was changed; exit code 1 names the first line that was
    Verify {
        #[command(flatten)]
        place: PlaceArgs,
        /// A head that an earlier check printed: notices lines that were cut off since, and missing files. @FILE names a
        /// file with heads, as this command prints them. May be repeated
        #[arg(long, value_name = "HEAD | @FILE")]
        expect: Vec<String>,
        /// The file with the key of the chain; without FILE | FOLDER, the configuration's key is taken
        #[arg(long, value_name = "FILE")]
        key_file: Option<PathBuf>,
        /// Print one JSON document and nothing else
        #[arg(long)]
        json: bool,
    },
}

/// Which audit.
#[derive(Args)]
struct PlaceArgs {
    /// The audit's file or folder, instead of the one that the configuration sets
    #[arg(value_name = "FILE | FOLDER")]
    path: Option<PathBuf>,
    /// Use this configuration instead of looking for one (as TOOLCELL_CONFIG does)
    #[arg(long, value_name = "FILE", conflicts_with = "path")]
    config: Option<PathBuf>,
}

impl AuditArgs {
    pub fn is_json(&self) -> bool {
        match &self.verb {
            Verb::Show { json, .. } | Verb::Tail { json, .. } | Verb::Verify { json, .. } => *json,
        }
    }
}

impl PlaceArgs {
    /// The audit's place, and its key if the configuration has one.
    fn find(&self) -> anyhow::Result<(PathBuf, Option<Key>)> {
        if let Some(path) = &self.path {
            return Ok((path.clone(), None));
        }
        let environment = Environment::of_process()?;
        let audit = match environment.locate(self.config.as_deref())? {
            Some(location) => read(&location, &environment)?.audit,
            None => None,
        };
        // Without a configuration's, the place in which one without a place of its own keeps it.
        let audit = audit.unwrap_or_else(Audit::default);
        let path = audit.path(&environment.folders).into_owned();
        if !path.exists() {
            bail!(
                "there is no audit at {}; `[audit]` in toolcell.toml makes toolcell keep one",
                path.display()
            );
        }
        Ok((path, audit.key))
    }
}

pub(crate) fn run(args: &AuditArgs) -> anyhow::Result<ExitCode> {
    match &args.verb {
        Verb::Show { place, filter, json } => {
            lines::show(&place.find()?.0, &filter.compiled()?, *json)?;
            Ok(ExitCode::SUCCESS)
        }
        Verb::Tail { place, filter, lines, follow, json } => {
            lines::tail(&place.find()?.0, &filter.compiled()?, *lines, *follow, *json)?;
            Ok(ExitCode::SUCCESS)
        }
        Verb::Verify { place, expect, key_file, json } => {
            let (path, key) = place.find()?;
            let key = key_file.clone().map(Key::File).or(key);
            let key = key.map(|key| key.read()).transpose()?;
            let verification = verify(&path, key.as_deref(), &expected(expect)?)?;
            report(&verification, *json)
        }
    }
}

/// The heads that are written, or that are in the files that `@` names.
fn expected(written: &[String]) -> anyhow::Result<Vec<Hash>> {
    let mut heads = Vec::new();
    for one in written {
        let Some(file) = one.strip_prefix('@') else {
            heads.push(one.parse().map_err(|error| anyhow::anyhow!("--expect: {error}"))?);
            continue;
        };
        let text = std::fs::read_to_string(file).with_context(|| format!("--expect: cannot read {file}"))?;
        let before = heads.len();
        heads.extend(text.split([' ', '\n', '"', ',']).filter_map(|word| word.parse::<Hash>().ok()));
        if heads.len() == before {
            bail!("--expect: there is no head in {file}; save there what `toolcell audit verify` prints");
        }
    }
    Ok(heads)
}

fn report(verification: &Verification, is_json: bool) -> anyhow::Result<ExitCode> {
    if is_json {
        print_json(&document(verification))?;
    } else {
        tell(verification)?;
    }
    Ok(if verification.is_intact() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tell(verification: &Verification) -> std::io::Result<()> {
    let mut calls = 0;
    for file in &verification.files {
        let path = file.path.display();
        calls += file.calls;
        for line in file.unfinished.iter().filter(|line| file.uncovered != Some(**line)) {
            say(Label::Note, format_args!("{path}:{line}: a crash cut this line; its call never returned"));
        }
        if let Some(line) = file.uncovered {
            say(
                Label::Error,
                format_args!(
                    "{path}:{line}: the file ends in an unfinished line that nothing covers: a crash may have cut \
                     it, or somebody did"
                ),
            );
        }
        match &file.broken {
            None => print_line(format_args!("{path}: {} calls, head {}", file.calls, file.head))?,
            Some(broken) => {
                say(Label::Error, format_args!("{path}:{}: this line {}", broken.line, broken.reason))
            }
        }
    }
    for head in &verification.missing {
        say(
            Label::Error,
            format_args!(
                "the head {head} is nowhere: lines were cut off since it was printed, or a file is missing"
            ),
        );
    }
    if verification.is_intact() && verification.files.len() > 1 {
        print_line(format_args!("{} files, {calls} calls", verification.files.len()))?;
    }
    Ok(())
}

fn document(verification: &Verification) -> Value {
    let file = |file: &toolcell::audit::Verified| {
        let mut document = Map::new();
        document.insert("path".to_owned(), path_json(&file.path));
        document.insert("calls".to_owned(), file.calls.into());
        document.insert("head".to_owned(), file.head.to_string().into());
        if !file.unfinished.is_empty() {
            document.insert("unfinished".to_owned(), json!(file.unfinished));
        }
        if let Some(line) = file.uncovered {
            document.insert("uncovered".to_owned(), line.into());
        }
        if let Some(broken) = &file.broken {
            document.insert("broken".to_owned(), json!({ "line": broken.line, "reason": broken.reason }));
        }
        Value::Object(document)
    };
    let missing: Vec<String> = verification.missing.iter().map(ToString::to_string).collect();
    json!({
        "intact": verification.is_intact(),
        "files": verification.files.iter().map(file).collect::<Vec<_>>(),
        "missing": missing,
    })
}

fn path_json(path: &Path) -> Value {
    path.display().to_string().into()
}
