//! What a guest can import: WASI 0.2 as wasmtime-wasi serves it, with our own layers where a grant or a limit must
//! hold, and the interfaces of `toolcell:tool`.

mod keyvalue;
mod random;
mod refused;
mod toolcell;

use wasmtime::component::Linker;
use wasmtime::{Engine, Result};
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView};
use wasmtime_wasi::p2::bindings::{cli, clocks};
use wasmtime_wasi_config::WasiConfig;

use super::dirs::{self, GuardedFilesystem};
use super::state::CellState;

pub(crate) use keyvalue::KeepGrant;
pub(super) use keyvalue::Keeping;
pub(super) use refused::add_refused;

/// The linker of an engine, made once. Whatever is not here is refused by [`add_refused`] or unknown.
pub(super) fn linker(engine: &Engine) -> Result<Linker<CellState>> {
    let mut linker = Linker::new(engine);
    add_io(&mut linker)?;
    let l = &mut linker;
    clocks::wall_clock::add_to_linker::<CellState, WasiClocks>(l, CellState::clocks)?;
    clocks::monotonic_clock::add_to_linker::<CellState, WasiClocks>(l, CellState::clocks)?;
    cli::exit::add_to_linker::<CellState, WasiCli>(l, CellState::cli)?;
    cli::environment::add_to_linker::<CellState, WasiCli>(l, CellState::cli)?;
    cli::stdin::add_to_linker::<CellState, WasiCli>(l, CellState::cli)?;
    cli::stdout::add_to_linker::<CellState, WasiCli>(l, CellState::cli)?;
    cli::stderr::add_to_linker::<CellState, WasiCli>(l, CellState::cli)?;
    cli::terminal_input::add_to_linker::<CellState, WasiCli>(l, CellState::cli)?;
    cli::terminal_output::add_to_linker::<CellState, WasiCli>(l, CellState::cli)?;
    cli::terminal_stdin::add_to_linker::<CellState, WasiCli>(l, CellState::cli)?;
    cli::terminal_stdout::add_to_linker::<CellState, WasiCli>(l, CellState::cli)?;
    cli::terminal_stderr::add_to_linker::<CellState, WasiCli>(l, CellState::cli)?;
    random::add_to_linker(l)?;
    dirs::add_to_linker(l, |state: &mut CellState| GuardedFilesystem {
        state: &mut state.dirs,
        table: &mut state.table,
    })?;
    wasmtime_wasi_config::add_to_linker(l, |state: &mut CellState| WasiConfig::new(&state.config))?;
    keyvalue::add_to_linker(l)?;
    #[cfg(feature = "http")]
    super::http::add_to_linker(l)?;
    toolcell::add_to_linker(l)?;
    Ok(linker)
}

/// `wasi:io`: streams and polls, as served by wasmtime.
fn add_io(linker: &mut Linker<CellState>) -> Result<()> {
    use wasmtime::component::{HasData, ResourceTable};
    use wasmtime_wasi::p2::bindings::io;

    struct Io;
    impl HasData for Io {
        type Data<'a> = &'a mut ResourceTable;
    }
    io::error::add_to_linker::<CellState, Io>(linker, |state| &mut state.table)?;
    io::poll::add_to_linker::<CellState, Io>(linker, |state| &mut state.table)?;
    io::streams::add_to_linker::<CellState, Io>(linker, |state| &mut state.table)
}
