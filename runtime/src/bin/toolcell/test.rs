//! `toolcell test`: cases of tools, written as data, each run in a cell.
//!
//! In reading order: [`case`] is a file of cases, [`scratch`] what a case may reach, [`expect`] what is wrong with its
//! outcome, and [`difference`] says so.

mod case;
mod difference;
mod expect;
mod scratch;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::{Value, json};
use toolcell::config::{Config, Folders};
use toolcell::policy::Action;
use toolcell::sandbox::{Allocation, Compiler};
use toolcell::{CancellationToken, Grant, Outcome, Runtime};

use crate::arguments::only_tool;
use crate::ready::{block_on, interrupted};
use crate::terminal::{Label, print_json, print_line, say};
use crate::toolset::{Toolset, ToolsetArgs};
use case::{Case, CaseFile};
use difference::Difference;
use scratch::Scratch;

const EXAMPLES: &str = "\
A file of cases:
  [[case]]
  name = \"counts words\"
  tool = \"top_words\"                       # may be left out where there is one tool
  arguments = { text = \"a b a\" }           # or the text of JSON, as a model wrote it
  grant = { dirs = [{ host = \"data\", guest = \"/work\", access = \"read-write\" }] }   # as a copy
  limits = { timeout = \"5s\" }
  session = \"s1\"                           # with meta = { city = \"Oslo\" }
  [case.expect]
  result = [{ word = \"a\", count = 2 }, { word = \"b\", count = 1 }]
  max_fuel = \"5M\"

What can be expected: status, kind, result, structured, text, contains, lacks, logs, files, denials,
repaired, truncated, max_fuel, max_memory. Where neither status nor kind is expected, success is.

Exit codes: 0 every case is as expected, 1 some are not, 2 the command line, a case file or the
configuration is wrong";

/// Runs cases of tools and says where they differ from what is expected. A case gets what it grants itself and nothing
/// else: no grant, secret, rule or hook of the configuration. Beside a configuration that was found and is not trusted,
/// or none, that is folders of the project and no network.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TestArgs {
    /// Files of cases, or folders of such files. Default: the folder tests beside toolcell.toml, or here
    #[arg(value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// Run only the cases with this in their name
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    #[command(flatten)]
    pub tools: ToolsetArgs,
}

pub(crate) fn run(args: &TestArgs) -> anyhow::Result<ExitCode> {
    args.refuse_grants()?;
    let toolset = args.tools.open()?;
    let files = args.files(&toolset)?;
    let wanted = |case: &Case| args.filter.as_ref().is_none_or(|text| case.name.contains(text.as_str()));
    if !files.iter().any(|file| file.cases.iter().any(wanted)) {
        bail!("there is no case to run; `toolcell test --help` shows how one is written");
    }
    let interrupted = interrupted();
    let mut report = Report::new(args.tools.json);
    for file in &files {
        // Cases of one file run in their order and share what their sessions keep.
        let home = tempfile::tempdir().context("cannot make a folder for the state of the tests")?;
        let bench = Bench { toolset: &toolset, home: home.path(), cancel: &interrupted };
        for case in file.cases.iter().filter(|case| wanted(case)) {
            let (outcome, differences) = bench.run(file, case)?;
            if interrupted.is_cancelled() {
                bail!("interrupted");
            }
            report.add(file, case, &outcome, differences)?;
        }
    }
    report.end()
}

impl TestArgs {
    /// What flags grant would be granted to no case.
    fn refuse_grants(&self) -> anyhow::Result<()> {
        let tools = &self.tools;
        let given = [
            ("--dir", !tools.dirs.is_empty()),
            ("--allow-http", !tools.allow_http.is_empty()),
            ("--env", !tools.env.is_empty()),
            ("--config-value", !tools.config_value.is_empty()),
            ("--state", tools.state.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((flag, _)) => bail!("{flag} is of no use here: write what a case is granted in its `grant`"),
            None => Ok(()),
        }
    }

    fn files(&self, toolset: &Toolset) -> anyhow::Result<Vec<CaseFile>> {
        let here = &toolset.environment.working_directory;
        let beside = toolset.config.file.as_deref().and_then(Path::parent).unwrap_or(here).join("tests");
        let paths = if self.paths.is_empty() { vec![beside] } else { self.paths.clone() };
        let mut files = Vec::new();
        for path in paths {
            let absolute = here.join(&path);
            let metadata = absolute.metadata().with_context(|| format!("cannot find {}", path.display()))?;
            match metadata.is_dir() {
                true => files.extend(in_folder(&absolute)?),
                false => files.push(absolute),
            }
        }
        files.iter().map(|path| CaseFile::read(path, here)).collect()
    }
}

/// The files of cases in a folder, by name.
fn in_folder(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = folder.read_dir().and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let entries = entries.with_context(|| format!("cannot list {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "toml") && path.is_file());
    files.sort();
    Ok(files)
}

/// What the cases of one file run on.
struct Bench<'a> {
    toolset: &'a Toolset,
    home: &'a Path,
    cancel: &'a CancellationToken,
}

impl Bench<'_> {
    fn run(&self, file: &CaseFile, case: &Case) -> anyhow::Result<(Outcome, Vec<Difference>)> {
        let place = || format!("{}:{}: `{}`", file.name, case.line, case.name);
        let scratch = Scratch::of(case, &file.folder, self.confined()).with_context(place)?;
        let runtime = self.runtime(case, &scratch.grant).with_context(place)?;
        let tool = match &case.tool {
            Some(tool) => tool.clone(),
            None => only_tool(&runtime).with_context(place)?,
        };
        let session = runtime.session(case.session.as_str());
        let mut call = session.call(case.call(tool)).cancel(self.cancel.clone());
        if let Some(deterministic) = case.deterministic {
            call = call.deterministic(deterministic);
        }
        let outcome = block_on(call.into_future())?;
        let differences = case.expect.differences(&outcome, &scratch);
        Ok((outcome, differences))
    }

    /// The folder that cases may not leave, unless somebody looked at what they belong to: whoever runs the tests of a
    /// project that was only found lets its tools read that.
    fn confined(&self) -> Option<&Path> {
        let toolset = self.toolset;
        let beside = toolset.config.file.as_deref().and_then(Path::parent);
        (!toolset.is_trusted).then(|| beside.unwrap_or(&toolset.environment.working_directory))
    }

    /// A runtime with the tools of the configuration, and nothing of its policy.
    fn runtime(&self, case: &Case, grant: &Grant) -> anyhow::Result<Runtime> {
        let mut config = Config::default();
        let given = &self.toolset.config;
        (config.limits, config.output) = (given.limits.clone(), given.output);
        (config.file, config.origins) = (given.file.clone(), given.origins.clone());
        config.default = Action::Allow;
        config.components = given.components.iter().filter(|component| component.enabled).cloned().collect();
        for component in &mut config.components {
            component.grant = granted(grant, &component.grant);
            component.dir_origins.clear();
            component.http_origins.clear();
        }
        let builder = Runtime::builder()
            .config(config)
            .override_limits(case.limits(&self.toolset.over))
            .allocation(Allocation::OnDemand)
            .cache(self.toolset.environment.folders.compiled())
            .folders(Folders::under(self.home));
        let builder = match std::env::current_exe() {
            Ok(program) => builder.compiler(Compiler::Child { program }),
            Err(_) => builder,
        };
        let components = self.toolset.components.iter();
        let components = components.map(|component| component.clone().grant(granted(grant, &Grant::none())));
        Ok(components.fold(builder, toolcell::RuntimeBuilder::component).build_blocking()?)
    }
}

/// What a case grants, with the values of configuration that the component has anyway.
fn granted(case: &Grant, component: &Grant) -> Grant {
    let values = component.config.iter();
    let missing = values.filter(|(name, _)| !case.config.contains_key(*name));
    missing.fold(case.clone(), |grant, (name, value)| grant.config(name, value))
}

/// What is told of the cases.
struct Report {
    is_json: bool,
    cases: Vec<Value>,
    passed: usize,
    failed: usize,
}

impl Report {
    fn new(is_json: bool) -> Self {
        Self { is_json, cases: Vec::new(), passed: 0, failed: 0 }
    }

    fn add(
        &mut self,
        file: &CaseFile,
        case: &Case,
        outcome: &Outcome,
        differences: Vec<Difference>,
    ) -> anyhow::Result<()> {
        let passed = differences.is_empty();
        *(if passed { &mut self.passed } else { &mut self.failed }) += 1;
        if self.is_json {
            self.cases.push(json!({
                "file": file.name, "line": case.line, "name": case.name, "tool": outcome.name, "passed": passed,
                "differences": differences, "outcome": outcome,
            }));
            return Ok(());
        }
        let word = if passed { "ok    " } else { "FAILED" };
        print_line(format_args!("{word} {}:{} {}", file.name, case.line, case.name))?;
        for difference in &differences {
            print_line(format_args!("         {}", difference.to_string().replace('\n', "\n         ")))?;
        }
        Ok(())
    }

    fn end(self) -> anyhow::Result<ExitCode> {
        let Self { is_json, cases, passed, failed } = self;
        if is_json {
            print_json(&json!({ "passed": passed, "failed": failed, "cases": cases }))?;
        } else {
            print_line(format_args!("{passed} passed, {failed} failed"))?;
        }
        if failed > 0 && !is_json {
            say(Label::Help, "`--json` shows the whole outcome of each case");
        }
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
