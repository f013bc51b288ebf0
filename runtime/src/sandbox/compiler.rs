//! Compilation of components that are not in the cache. A component's author decides how long the compiler works and
//! how much memory it takes, so the command line lets a child process of the same binary do it, under limits.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit};
use wasmtime::Engine;
use wasmtime::component::Component;

use super::cache::CompileCache;
use super::engine::{Meter, compiling_engine};
use crate::error::{Error, Result};
use crate::policy::Digest;

/// Who compiles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Compiler {
    /// This process, without bounds on time and memory: for embedders that compile only components they trust.
    #[default]
    InProcess,
    /// A child process under limits: `program` run with the arguments `compile-component METER STACK`, the component
    /// on its standard input. The program's main function hands over to [`compile_as_child`].
    Child {
        /// The program, usually the running one.
        program: PathBuf,
    },
}

/// The first argument of a compiling child.
pub const CHILD_ARGUMENT: &str = "compile-component";

/// Address space of a compiling child. Components of 20 MB were measured to peak at 360 MB; threads and allocators
/// reserve a multiple of what they use.
const CHILD_ADDRESS_SPACE: u64 = 8 << 30;

/// Processor time of a compiling child, in seconds: components of 20 MB took 5 to 12.
const CHILD_SECONDS: u64 = 240;

/// Wall clock after which a child is killed; more than its processor time on a loaded machine.
const CHILD_TIMEOUT: Duration = Duration::from_secs(600);

/// How often a waiting parent looks at its child.
const CHILD_POLL: Duration = Duration::from_millis(2);

impl Compiler {
    /// Native code of `bytes` for `engine`. Blocks: belongs on a thread that may wait.
    pub(crate) fn compile(
        &self,
        engine: &Engine,
        meter: Meter,
        stack: u64,
        bytes: &[u8],
        cache: Option<(&CompileCache, &Digest)>,
    ) -> Result<Component, String> {
        let code = match self {
            Self::InProcess => engine.precompile_component(bytes).map_err(|error| explain(&error))?,
            Self::Child { program } => compile_in_child(program, meter, stack, bytes)?,
        };
        if let Some((cache, digest)) = cache {
            cache.store(engine, digest, &code);
        }
        // SAFETY: the code was made right now by this process or by its own child, which wrote to a pipe that
        // nobody else holds.
        unsafe { Component::deserialize(engine, &code) }.map_err(|error| explain(&error))
    }
}

/// The compiler's words without its chain of positions.
fn explain(error: &wasmtime::Error) -> String {
    format!("it does not compile: {}", error.root_cause())
}

fn compile_in_child(program: &PathBuf, meter: Meter, stack: u64, bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut child = Command::new(program)
        .args([CHILD_ARGUMENT, meter_name(meter), &stack.to_string()])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start the compiler: {error}"))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let deadline = Instant::now() + CHILD_TIMEOUT;
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(bytes)));
        let code = scope.spawn(move || read_all(stdout));
        let message = scope.spawn(move || read_all(stderr));
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Ok(status),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(CHILD_POLL),
                Ok(None) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break Err(format!("it took longer than {}s to compile", CHILD_TIMEOUT.as_secs()));
                }
                Err(error) => break Err(format!("lost the compiler: {error}")),
            }
        }?;
        let code = code.join().unwrap_or_default();
        if status.success() {
            return Ok(code);
        }
        let message = message.join().unwrap_or_default();
        let message = String::from_utf8_lossy(&message).trim().to_owned();
        Err(if message.is_empty() || status.code().is_none() {
            format!(
                "the compiler was ended at its limits ({} GiB of address space, {CHILD_SECONDS}s of processor time)",
                CHILD_ADDRESS_SPACE >> 30
            )
        } else {
            message
        })
    })
}

fn read_all(pipe: Option<impl std::io::Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // A child that dies in the middle is known by its status.
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

/// The body of a compiling child: reads a component on standard input and writes native code to standard output.
/// `arguments` are those after [`CHILD_ARGUMENT`].
///
/// # Errors
/// A message for the parent, to be written to standard error by a process that then exits with 1.
pub fn compile_as_child(arguments: &[String]) -> Result<(), String> {
    let [meter, stack] = arguments else {
        return Err("the compiler is started by toolcell itself".to_owned());
    };
    let meter = [Meter::Fuel, Meter::Epoch].into_iter().find(|known| meter_name(*known) == meter);
    let (Some(meter), Ok(stack)) = (meter, stack.parse()) else {
        return Err("the compiler is started by toolcell itself".to_owned());
    };
    // Whoever waits for the code may be killed; then nobody wants it.
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("cannot follow the parent: {error}"))?;
    limit(Resource::As, CHILD_ADDRESS_SPACE)?;
    limit(Resource::Cpu, CHILD_SECONDS)?;
    limit(Resource::Core, 0)?;
    let mut bytes = Vec::new();
    std::io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot read the component: {error}"))?;
    let engine = compiling_engine(meter, stack).map_err(|error: Error| error.to_string())?;
    let code = engine.precompile_component(&bytes).map_err(|error| explain(&error))?;
    std::io::stdout().write_all(&code).map_err(|error| format!("cannot hand over the code: {error}"))
}

/// Lowers a limit of this process; where its parent already runs under a lower one, that one stays.
fn limit(resource: Resource, value: u64) -> Result<(), String> {
    let value = getrlimit(resource).maximum.map_or(value, |maximum| maximum.min(value));
    let limit = Rlimit { current: Some(value), maximum: Some(value) };
    setrlimit(resource, limit).map_err(|error| format!("cannot limit the compiler: {error}"))
}

fn meter_name(meter: Meter) -> &'static str {
    match meter {
        Meter::Fuel => "fuel",
        Meter::Epoch => "epoch",
    }
}
