//! The binary says its version. That this is an integration test of the package makes every test run build the
//! binary, which the promises in `tests/` run.

#![cfg(feature = "cli")]

use std::process::Command;

#[test]
fn the_binary_says_its_version() {
    let output = Command::new(env!("CARGO_BIN_EXE_toolcell")).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    assert_eq!(text, concat!("toolcell ", env!("CARGO_PKG_VERSION"), "\n"));
}
