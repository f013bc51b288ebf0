//! How a cell ended, in one of the closed set of kinds. wasmtime's own words never reach a reader: they are told
//! apart by type where they have one and by text where they have not (pinned by tests).

use std::time::Duration;

use wasmtime::Trap;
use wasmtime::component::ResourceTableError;
use wasmtime_wasi::I32Exit;
#[cfg(feature = "http")]
use wasmtime_wasi_http::FieldMapError;

use super::deadline::Stop;
use super::limiter::Refusal;
use super::state::{CapabilityRefused, CellState, LimitExceeded};
use crate::call::{CallError, ErrorKind};
use crate::limits::{EffectiveLimits, Limit, advice};
use crate::recording::{Difference, Tape};

/// What of a panic's text is worth repeating; the whole of it is in the logs.
const MAX_PANIC_BYTES: usize = 500;

/// Classifies the failure of a guest that was not stopped from outside.
pub(super) fn classify(error: &wasmtime::Error, state: &CellState, fuel_used: Option<u64>) -> CallError {
    let limits = state.budget.limits();
    if let Some(stop) = error.downcast_ref::<Stop>() {
        return stopped(*stop, limits, state.watch.elapsed());
    }
    if let Some(exceeded) = error.downcast_ref::<LimitExceeded>() {
        return limit_error(exceeded.limit, exceeded.wanted, limits);
    }
    if let Some(refused) = error.downcast_ref::<CapabilityRefused>() {
        return capability_refused(refused);
    }
    #[cfg(feature = "http")]
    if let Some(FieldMapError::TooManyFields | FieldMapError::TotalSizeTooBig) = error.downcast_ref() {
        return headers_too_large();
    }
    if error.downcast_ref::<Difference>().is_some() {
        return CallError::new(ErrorKind::Internal, "the replay is not what was recorded");
    }
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        return exited(exit.0);
    }
    if let Some(ResourceTableError::Full) = error.downcast_ref::<ResourceTableError>() {
        return handles_exhausted(limits);
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => return out_of_fuel(limits, fuel_used),
        Some(Trap::Interrupt) => return stopped(Stop::Deadline, limits, state.watch.elapsed()),
        Some(Trap::StackOverflow) => return stack_overflow(limits),
        _ => {}
    }
    if let Some(refusal) = state.limiter.refusal().filter(|refusal| explains(refusal, error, state)) {
        return limit_error(refusal.limit, refusal.wanted, limits);
    }
    if let Some((limit, wanted)) = limit_on_files(state) {
        return limit_error(limit, wanted, limits);
    }
    let text = error.root_cause().to_string();
    if text.contains("handle limit exceeded") {
        return handles_exhausted(limits);
    }
    if text.contains("fuel allocated for hostcalls") || text.contains("hostcall fuel") {
        return if state.lifting_result { result_too_large(limits) } else { host_copy_too_large() };
    }
    if text.contains("instance count too high") {
        return limit_error(Limit::Instances, limits.get(Limit::Instances).saturating_add(1), limits);
    }
    if error.downcast_ref::<Trap>().is_none() && is_out_of_memory(error) {
        return no_room();
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::UnreachableCodeReached) => panicked(state).unwrap_or_else(|| trapped("it aborted")),
        Some(trap) => trapped(&trap_words(*trap)),
        None => trapped(&format!("it broke the rules of the component model: {text}")),
    }
}

/// The limit on files that the guest met, in this call or in the one that is replayed.
fn limit_on_files(state: &CellState) -> Option<(Limit, u64)> {
    match &state.tape {
        Some(Tape::Replay(player)) => {
            let (name, wanted) = player.end().files.limit.as_ref()?;
            Some((Limit::from_name(name)?, *wanted))
        }
        _ => state.dirs.limit_hit(),
    }
}

/// Whether the guest ended for a refused growth, the last that it asked for, and not for something later: it aborted
/// and said nothing of another reason, or used what it did not get. Without a trap, it never began.
fn explains(refusal: &Refusal, error: &wasmtime::Error, state: &CellState) -> bool {
    let Some(trap) = error.downcast_ref::<Trap>() else { return true };
    match (trap, refusal.limit) {
        (Trap::UnreachableCodeReached, _) => panic_text(state).is_none_or(|text| is_about_memory(&text)),
        (Trap::MemoryOutOfBounds, Limit::Memory) => true,
        (Trap::TableOutOfBounds | Trap::IndirectCallToNull, Limit::TableElements) => true,
        _ => false,
    }
}

/// Whether a panic speaks of an allocation that failed, in the words of Rust's standard library.
fn is_about_memory(text: &str) -> bool {
    ["memory allocation of", "AllocError", "OutOfMemory"].iter().any(|words| text.contains(words))
}

/// A call that was stopped from outside after its cell ran for `elapsed`.
pub(super) fn stopped(stop: Stop, limits: &EffectiveLimits, elapsed: Duration) -> CallError {
    match stop {
        Stop::Cancelled => CallError::new(ErrorKind::Cancelled, "the call was cancelled"),
        Stop::Deadline => {
            let hit = limits.timeout_hit(elapsed);
            let message =
                format!("the tool did not finish within {}; ask for less work in one call", hit.allowed);
            CallError::new(ErrorKind::Timeout, message).help(advice(&hit)).limit(hit)
        }
    }
}

/// The limit that ended the call, for readers: which, how much, where to raise it.
pub(super) fn limit_error(limit: Limit, wanted: u64, limits: &EffectiveLimits) -> CallError {
    let kind = match limit {
        Limit::Memory => ErrorKind::MemoryLimit,
        Limit::ResultBytes => ErrorKind::ResultTooLarge,
        _ => ErrorKind::ResourceLimit,
    };
    let allowed = limit.format(limits.get(limit));
    let used = limit.format(wanted);
    let message = match limit {
        Limit::Memory => format!("the tool needs more memory ({used}) than it may have ({allowed})"),
        Limit::ResultBytes => format!("the result is larger than {allowed}; ask for a smaller part"),
        _ => format!("the tool used up its limit of {allowed} for {}", limit.name().replace('_', " ")),
    };
    with_limit(kind, message, limit, used, limits)
}

fn with_limit(
    kind: ErrorKind,
    message: String,
    limit: Limit,
    used: String,
    limits: &EffectiveLimits,
) -> CallError {
    let hit = limits.hit_text(limit, used);
    CallError::new(kind, message).help(advice(&hit)).limit(hit)
}

fn out_of_fuel(limits: &EffectiveLimits, used: Option<u64>) -> CallError {
    let message = "the tool's work exceeds its fuel; ask for less work in one call".to_owned();
    // The counter may lag behind a trap.
    let used = format!("at least {}", used.unwrap_or_else(|| limits.get(Limit::Fuel)));
    with_limit(ErrorKind::OutOfFuel, message, Limit::Fuel, used, limits)
}

fn stack_overflow(limits: &EffectiveLimits) -> CallError {
    let message = "the tool recursed too deeply; give it input that is less nested".to_owned();
    let used = format!("more than {}", Limit::Stack.format(limits.get(Limit::Stack)));
    with_limit(ErrorKind::StackOverflow, message, Limit::Stack, used, limits)
}

fn handles_exhausted(limits: &EffectiveLimits) -> CallError {
    limit_error(Limit::Handles, limits.get(Limit::Handles).saturating_add(1), limits)
}

/// A result whose values would take the host too much memory.
pub(super) fn result_too_large(limits: &EffectiveLimits) -> CallError {
    let allowed = Limit::ResultBytes.format(limits.get(Limit::ResultBytes));
    let message = format!("the result is larger than {allowed}; ask for a smaller part");
    with_limit(ErrorKind::ResultTooLarge, message, Limit::ResultBytes, format!("more than {allowed}"), limits)
}

fn host_copy_too_large() -> CallError {
    CallError::new(
        ErrorKind::ResourceLimit,
        format!(
            "the tool handed the host more than {} at once",
            Limit::HostBytes.format(u64::try_from(super::HOST_CALL_BYTES).unwrap_or(u64::MAX))
        ),
    )
    .help("the tool must pass data to the host in smaller pieces; this bound is fixed")
}

#[cfg(feature = "http")]
fn headers_too_large() -> CallError {
    CallError::new(ErrorKind::ResourceLimit, "the tool made more headers of HTTP than one message may have")
        .help("the headers of a request may take about 64 KiB; this bound is fixed")
}

fn capability_refused(refused: &CapabilityRefused) -> CallError {
    CallError::new(
        ErrorKind::CapabilityDenied,
        format!("the tool used {} ({}), which it is not granted", refused.capability, refused.interface),
    )
    .help(format!("no setting of this version grants {}", refused.capability))
}

fn exited(code: i32) -> CallError {
    CallError::new(ErrorKind::Exited, format!("the tool exited with code {code} instead of returning"))
}

fn panicked(state: &CellState) -> Option<CallError> {
    let text = panic_text(state)?;
    Some(CallError::new(ErrorKind::Panicked, format!("the tool panicked: {text}")))
}

/// The message of the panic that the guest ended with, bounded.
fn panic_text(state: &CellState) -> Option<String> {
    let stderr = state.stderr.text(state.events.redactor())?;
    // Rust prints the thread and the position in one line, then the message on lines of its own, which may say
    // anything.
    let is_start = |line: &str| line.starts_with("thread '") && line.contains(" panicked at ");
    let mut lines = stderr.split_inclusive('\n').rev();
    let mut after = 0;
    lines.by_ref().take_while(|line| !is_start(line)).for_each(|line| after += line.len());
    let message = stderr.get(stderr.len().checked_sub(after)?..)?;
    if after == stderr.len() {
        return None;
    }
    let message = message.split("\nnote: ").next().unwrap_or(message).trim();
    let end = message.floor_char_boundary(MAX_PANIC_BYTES);
    let kept = message.get(..end)?;
    Some(match state.events.redactor() {
        Some(redactor) if end < message.len() => redactor.cut_end(kept),
        _ => kept.to_owned(),
    })
}

/// Whether the operating system had no memory, address space or mapping left for the cell.
fn is_out_of_memory(error: &wasmtime::Error) -> bool {
    let is_one = |source: &(dyn std::error::Error + 'static)| {
        source
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::OutOfMemory)
            || source
                .downcast_ref::<rustix::io::Errno>()
                .is_some_and(|error| *error == rustix::io::Errno::NOMEM)
    };
    error.chain().any(is_one)
}

fn no_room() -> CallError {
    CallError::new(ErrorKind::Unavailable, "the host has no memory left for a cell; try again later").help(
        "each cell maps 4 GiB of address space: raise `ulimit -v` or `vm.max_map_count`, or lower \
         `limits.concurrent_cells`",
    )
}

fn trapped(what: &str) -> CallError {
    CallError::new(ErrorKind::Trapped, format!("the tool crashed: {what}"))
        .help("this is a fault of the tool; its output is in `logs`")
}

fn trap_words(trap: Trap) -> String {
    match trap {
        Trap::MemoryOutOfBounds => "it accessed memory out of bounds".to_owned(),
        Trap::TableOutOfBounds | Trap::IndirectCallToNull | Trap::BadSignature => {
            "it called a function that is not there".to_owned()
        }
        Trap::IntegerDivisionByZero => "it divided by zero".to_owned(),
        Trap::IntegerOverflow | Trap::BadConversionToInteger => "a number was out of range".to_owned(),
        other => other.to_string(),
    }
}
