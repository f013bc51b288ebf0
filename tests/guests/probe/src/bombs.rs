//! Handles that are never given back.

use wasip2::cli::stdout;
use wasip2::clocks::monotonic_clock;

use crate::Probe;
use crate::bindings::exports::toolcell::guests::bombs::Guest;
use crate::bindings::exports::toolcell::guests::raw::OpenMode;
use crate::bindings::toolcell::tool::files::Replacement;
use crate::raw;

/// Makes and forgets handles until `most` are made or one is refused.
fn hold<T>(most: u64, mut make: impl FnMut() -> Result<T, String>) -> (u64, Option<String>) {
    for held in 0..most {
        match make() {
            Ok(handle) => std::mem::forget(handle),
            Err(error) => return (held, Some(error)),
        }
    }
    (most, None)
}

impl Guest for Probe {
    fn bomb_pollables(most: u64) -> u64 {
        hold(most, || Ok(monotonic_clock::subscribe_duration(u64::MAX))).0
    }

    fn bomb_streams(most: u64) -> u64 {
        hold(most, || Ok(stdout::get_stdout())).0
    }

    fn bomb_descriptors(preopen: u32, path: String, most: u64) -> (u64, Option<String>) {
        hold(most, || raw::open(preopen, &path, OpenMode::READ))
    }

    fn bomb_file_streams(preopen: u32, path: String, most: u64) -> (u64, Option<String>) {
        match raw::open(preopen, &path, OpenMode::READ) {
            Ok(file) => hold(most, || file.read_via_stream(0).map_err(raw::code)),
            Err(error) => (0, Some(error)),
        }
    }

    fn bomb_listings(preopen: u32, most: u64) -> (u64, Option<String>) {
        match raw::preopen(preopen) {
            Ok(directory) => hold(most, || directory.read_directory().map_err(raw::code)),
            Err(error) => (0, Some(error)),
        }
    }

    fn bomb_replacements(path: String, most: u64) -> (u64, Option<String>) {
        hold(most, || {
            Replacement::open(&path, false).map_err(|error| format!("{}: {}", error.kind, error.message))
        })
    }
}
