//! `toolcell doctor`

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use clap::Args;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use serde_json::{Value, json};
use toolcell::config::Environment;
use toolcell::sandbox::{Allocation, CompileCache, Compiler};
use toolcell::{Runtime, ToolCall, ToolComponent};

use crate::ready::block_on;
use crate::terminal::{counted, print_json, print_line};
use crate::toolset::ToolsetArgs;

/// The version of the engine that this binary was built with; a test compares it with the lock file.
const WASMTIME: &str = "48.0.8";

#[derive(Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub tools: ToolsetArgs,
}

/// How a check ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    /// Something is slower or missing, and tools run.
    Poor,
    /// Tools do not run.
    Bad,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Poor => "warning",
            Self::Bad => "error",
        }
    }
}

/// One thing that was looked at.
struct Finding {
    subject: &'static str,
    state: State,
    message: String,
}

impl Finding {
    fn good(subject: &'static str, message: impl Into<String>) -> Self {
        Self { subject, state: State::Good, message: message.into() }
    }

    fn poor(subject: &'static str, message: impl Into<String>) -> Self {
        Self { subject, state: State::Poor, message: message.into() }
    }

    fn bad(subject: &'static str, message: impl Into<String>) -> Self {
        Self { subject, state: State::Bad, message: message.into() }
    }
}

pub(crate) fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let environment = Environment::of_process()?;
    let findings = [
        Finding::good("version", format!("toolcell {}, wasmtime {WASMTIME}", env!("CARGO_PKG_VERSION"))),
        engine(&environment),
        cache(&environment),
        folders(&environment),
        configuration(&args.tools, &environment),
        openat2(),
        proc(),
        guest_toolchain(),
    ];
    if args.tools.json {
        let checks: Vec<Value> = findings
            .iter()
            .map(|finding| {
                json!({ "subject": finding.subject, "state": finding.state.word(), "message": finding.message })
            })
            .collect();
        print_json(&json!({ "checks": checks }))?;
    } else {
        for Finding { subject, state, message } in &findings {
            print_line(format_args!("{:<8} {subject}: {message}", state.word()))?;
        }
    }
    let is_bad = findings.iter().any(|finding| finding.state == State::Bad);
    Ok(if is_bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Compiles and runs a shipped tool in a pool, as a server would.
fn engine(environment: &Environment) -> Finding {
    const SUBJECT: &str = "engine";
    let started = Instant::now();
    let mut builder = Runtime::builder()
        .component(ToolComponent::builtin("basics"))
        .allocation(Allocation::Pooling)
        .folders(environment.folders.clone())
        .cache(environment.folders.compiled());
    if let Ok(program) = std::env::current_exe() {
        builder = builder.compiler(Compiler::Child { program });
    }
    let runtime = match builder.build_blocking() {
        Ok(runtime) => runtime,
        Err(error) => return Finding::bad(SUBJECT, error.to_string()),
    };
    let call = runtime.call(ToolCall::new("add", json!({ "a": 2, "b": 3 })));
    let outcome = match block_on(call.into_future()) {
        Ok(outcome) => outcome,
        Err(error) => return Finding::bad(SUBJECT, error.to_string()),
    };
    if let Some(error) = outcome.error {
        return Finding::bad(SUBJECT, format!("{} {}", error.message, error.help.unwrap_or_default()));
    }
    if runtime.maps_on_demand() {
        let message = "a pool of instances does not fit the address space (`ulimit -v`) or vm.max_map_count: calls \
                       are slower; lower `limits.concurrent_cells` or raise these";
        return Finding::poor(SUBJECT, message);
    }
    let took = started.elapsed().as_millis();
    Finding::good(SUBJECT, format!("a shipped tool ran in a pool of instances ({took} ms with everything)"))
}

fn cache(environment: &Environment) -> Finding {
    const SUBJECT: &str = "compile cache";
    match CompileCache::open(environment.folders.compiled()) {
        Err(why) => Finding::poor(SUBJECT, format!("{why}; every process compiles anew")),
        Ok(cache) if unwritable(cache.path()).is_some() => Finding::poor(
            SUBJECT,
            format!(
                "{} cannot be written: new components are compiled by every process",
                cache.path().display()
            ),
        ),
        Ok(cache) => match cache.size() {
            Ok((bytes, entries)) => Finding::good(
                SUBJECT,
                format!("{}, {bytes} bytes in {}", counted(entries, "component"), cache.path().display()),
            ),
            Err(error) => {
                Finding::poor(SUBJECT, format!("{} cannot be listed: {error}", cache.path().display()))
            }
        },
    }
}

/// Our own folders must be writable by this user, and by nobody else.
fn folders(environment: &Environment) -> Finding {
    const SUBJECT: &str = "folders";
    let (mut open, mut closed) = (Vec::new(), Vec::new());
    for (what, folder) in environment.folders.all() {
        if !folder.exists() {
            closed.extend(cannot_be_made(folder).map(|why| format!("{what}: {why}")));
        } else if let Err(error) = toolcell::config::ensure_private(folder) {
            open.push(error.to_string());
        } else {
            closed.extend(unwritable(folder).map(|why| format!("{what}: {why}")));
        }
    }
    if !open.is_empty() {
        return Finding::bad(SUBJECT, open.join("; "));
    }
    if !closed.is_empty() {
        let message = format!(
            "{}; what belongs there is not kept: make them writable, or set TOOLCELL_HOME to a folder of your own",
            closed.join("; ")
        );
        return Finding::poor(SUBJECT, message);
    }
    Finding::good(SUBJECT, "settings, cache, trust and outputs are writable by this user alone")
}

/// Why nothing can be written in `folder`. Permissions do not tell of all reasons, so it is tried.
fn unwritable(folder: &Path) -> Option<String> {
    let error = tempfile::NamedTempFile::new_in(folder).err()?;
    Some(format!("{} cannot be written ({})", folder.display(), error.kind()))
}

/// Why `folder`, which is not there, could not be made; nothing is made to find out.
fn cannot_be_made(folder: &Path) -> Option<String> {
    let above = folder.ancestors().find(|above| above.exists())?;
    let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    let error = rustix::fs::access(above, access).err()?;
    Some(format!("{} cannot be made ({})", folder.display(), std::io::Error::from(error).kind()))
}

/// Loads what the other commands would, without running any of it.
fn configuration(args: &ToolsetArgs, environment: &Environment) -> Finding {
    const SUBJECT: &str = "configuration";
    if args.config.is_none() && args.component.is_empty() && matches!(environment.locate(None), Ok(None)) {
        return Finding::good(SUBJECT, "none here; `toolcell init` writes one");
    }
    let loaded = args.open().and_then(|toolset| {
        let runtime = toolset.runtime()?;
        Ok((toolset, runtime))
    });
    let (toolset, runtime) = match loaded {
        Ok(loaded) => loaded,
        Err(error) => return Finding::bad(SUBJECT, format!("{error:#}")),
    };
    let (place, tools) = (toolset.place(), counted(runtime.list().len(), "tool"));
    match (toolset.inert, runtime.warnings()) {
        (0, []) => Finding::good(SUBJECT, format!("{place} holds as it is, with {tools}")),
        (0, warnings) => Finding::poor(SUBJECT, format!("{place}, with {tools}: {}", warnings.join("; "))),
        (inert, _) => {
            let do_not = if inert == 1 { "does" } else { "do" };
            let inert = counted(inert, "setting");
            let message =
                format!("{place} is not trusted: {inert} of it {do_not} not hold until `toolcell trust`");
            Finding::poor(SUBJECT, message)
        }
    }
}

fn openat2() -> Finding {
    const SUBJECT: &str = "openat2";
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::openat2(CWD, ".", flags, Mode::empty(), ResolveFlags::BENEATH) {
        Ok(_) => Finding::good(SUBJECT, "the kernel confines paths to granted folders"),
        Err(error) => Finding::bad(
            SUBJECT,
            format!("not available ({error}): directories cannot be granted; Linux 5.6 has it"),
        ),
    }
}

fn proc() -> Finding {
    const SUBJECT: &str = "/proc";
    match std::fs::read_link("/proc/self/exe") {
        Ok(_) => Finding::good(SUBJECT, "mounted"),
        Err(error) => Finding::bad(
            SUBJECT,
            format!("cannot be read ({error}): directories cannot be granted with `deny`"),
        ),
    }
}

/// Only authors of tools need it.
fn guest_toolchain() -> Finding {
    const SUBJECT: &str = "guest toolchain";
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let asked = Command::new(&rustc).args(["--print", "target-libdir", "--target", "wasm32-wasip2"]).output();
    let folder = match asked {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        _ => {
            return Finding::poor(
                SUBJECT,
                "no Rust compiler with the target wasm32-wasip2: tools can be run, not built",
            );
        }
    };
    if Path::new(&folder).exists() {
        Finding::good(SUBJECT, "the Rust compiler builds for wasm32-wasip2")
    } else {
        let message = "rustc lacks the target wasm32-wasip2 (`rustup target add wasm32-wasip2`): tools can be run, not built";
        Finding::poor(SUBJECT, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_is_the_locked_one() {
        let lock = include_str!("../../../../Cargo.lock");
        assert!(lock.contains(&format!("name = \"wasmtime\"\nversion = \"{WASMTIME}\"\n")));
    }
}
