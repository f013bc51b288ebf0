//! Cheap calls of the host without end. What they return does not matter: refused calls are calls too.

use std::hint::black_box;

use wasip2::cli::{environment, stdout};
use wasip2::clocks::monotonic_clock;
use wasip2::random::random;

use crate::Probe;
use crate::bindings::exports::toolcell::guests::loops::Guest;
use crate::bindings::exports::toolcell::guests::raw::OpenMode;
use crate::bindings::toolcell::tool::{context, events, types};
use crate::bindings::wasi::config::store;
use crate::raw;

fn again<T>(mut call: impl FnMut() -> T) {
    loop {
        black_box(call());
    }
}

impl Guest for Probe {
    fn loop_random(chunk: u64) {
        again(|| random::get_random_bytes(chunk));
    }

    fn loop_stat(path: String) {
        let directory = raw::preopen(0).unwrap_or_else(|error| panic!("{error}"));
        again(|| directory.stat_at(wasip2::filesystem::types::PathFlags::empty(), &path).is_ok());
    }

    fn loop_read(path: String) {
        let file = raw::open(0, &path, OpenMode::READ).unwrap_or_else(|error| panic!("{error}"));
        again(|| file.read(65536, 0).is_ok());
    }

    fn loop_list(preopen: u32) {
        let directory = raw::preopen(preopen).unwrap_or_else(|error| panic!("{error}"));
        again(|| {
            directory
                .read_directory()
                .map(|stream| while let Ok(Some(_)) = stream.read_directory_entry() {})
                .is_ok()
        });
    }

    fn loop_print() {
        let stdout = stdout::get_stdout();
        again(|| stdout.blocking_write_and_flush(b"again\n").is_ok());
    }

    fn loop_write_zero() {
        let stdout = stdout::get_stdout();
        again(|| stdout.write(&[]).is_ok());
    }

    fn loop_flush() {
        let stdout = stdout::get_stdout();
        again(|| stdout.blocking_flush().is_ok());
    }

    fn loop_clock() {
        again(monotonic_clock::now);
    }

    fn loop_poll() {
        let over = monotonic_clock::subscribe_duration(0);
        again(|| over.block());
    }

    fn loop_ready() {
        let never = monotonic_clock::subscribe_instant(u64::MAX);
        again(|| never.ready());
    }

    fn loop_environment() {
        again(environment::get_environment);
    }

    fn loop_log() {
        again(|| events::log(events::Level::Info, "again"));
    }

    fn loop_progress() {
        let mut done = 0;
        again(|| {
            done += 1;
            events::progress(done, None, None);
        });
    }

    fn loop_emit() {
        let chunk = types::Content::Text("again\n".to_owned());
        again(|| events::emit(&chunk));
    }

    fn loop_metadata() {
        again(|| context::metadata("again"));
    }

    fn loop_config() {
        again(|| store::get("again").is_ok());
    }
}
