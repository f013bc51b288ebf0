//! A program that compiles components for another process, as the command line does.

use std::io::Write as _;
use std::process::ExitCode;

use toolcell::sandbox::{CHILD_ARGUMENT, compile_as_child};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() != Some(CHILD_ARGUMENT) {
        return ExitCode::from(2);
    }
    match compile_as_child(&arguments.collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // Nobody else would hear of an error on the way to the reader of errors.
            let _ = writeln!(std::io::stderr(), "{message}");
            ExitCode::FAILURE
        }
    }
}
