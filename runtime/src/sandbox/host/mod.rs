//! What a guest can import: WASI 0.2 as wasmtime-wasi serves it, with our own layers where a grant or a limit must
//! hold, and the interfaces of `toolcell:tool`.

mod clocks;
mod config;
mod io;
mod keyvalue;
mod random;
mod refused;
mod toolcell;

use wasmtime::component::Linker;
use wasmtime::{Engine, Result};
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::p2::bindings::cli;

use super::dirs::{self, GuardedFilesystem, TapedFilesystem};
use super::state::CellState;

pub(crate) use keyvalue::KeepGrant;
pub(super) use keyvalue::Keeping;
pub(super) use refused::add_refused;

/// The linker of an engine, made once. Whatever is not here is refused by [`add_refused`] or unknown.
pub(super) fn linker(engine: &Engine) -> Result<Linker<CellState>> {
    let mut linker = Linker::new(engine);
    io::add_to_linker(&mut linker)?;
    clocks::add_to_linker(&mut linker)?;
    let l = &mut linker;
    cli::exit::add_to_linker::<CellState, WasiCli>(l, CellState::cli)?;
    cli::environment::add_to_linker::<CellState, WasiCli>(l, CellState::cli)?;
    cli::stdin::add_to_linker::<CellState, WasiCli>(l, CellState::cli)?;
    cli::terminal_input::add_to_linker::<CellState, WasiCli>(l, CellState::cli)?;
    cli::terminal_output::add_to_linker::<CellState, WasiCli>(l, CellState::cli)?;
    cli::terminal_stdin::add_to_linker::<CellState, WasiCli>(l, CellState::cli)?;
    cli::terminal_stdout::add_to_linker::<CellState, WasiCli>(l, CellState::cli)?;
    cli::terminal_stderr::add_to_linker::<CellState, WasiCli>(l, CellState::cli)?;
    random::add_to_linker(l)?;
    dirs::add_to_linker(l, |state: &mut CellState| TapedFilesystem {
        live: GuardedFilesystem { state: &mut state.dirs, table: &mut state.table },
        tape: state.tape.clone(),
    })?;
    config::add_to_linker(l)?;
    keyvalue::add_to_linker(l)?;
    #[cfg(feature = "http")]
    super::http::add_to_linker(l)?;
    toolcell::add_to_linker(l)?;
    Ok(linker)
}
