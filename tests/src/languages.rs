//! What projects in JavaScript, Python and C are built with, without a network.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::command_line::{binary, ended};
use crate::repository;

/// The variables with which a shell finds the binary and what `tests/languages/install.sh` has brought.
#[expect(clippy::panic, reason = "a test without its tools fails, and says how to get them")]
pub fn environment() -> Vec<(&'static str, OsString)> {
    let installed = ended(Command::new(repository().join("tests/languages/install.sh")).arg("--installed"));
    if installed.code != 0 {
        panic!("{}", installed.stderr);
    }
    let packages = PathBuf::from(installed.stdout.trim());
    let [linkers, linker] = linkers();
    vec![
        ("PATH", path([packages.join("bin"), linkers, linker])),
        ("npm_config_cache", packages.join("npm").into()),
        ("npm_config_offline", "true".into()),
        ("PIP_NO_INDEX", "1".into()),
        ("PIP_FIND_LINKS", packages.join("wheels").into()),
    ]
}

/// `PATH` with the folder of the binary, then `folders`, before what it is.
pub fn path(folders: impl IntoIterator<Item = PathBuf>) -> OsString {
    let own = binary().parent().map(PathBuf::from);
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let all = own.into_iter().chain(folders).chain(std::env::split_paths(&inherited));
    std::env::join_paths(all).unwrap_or_default()
}

/// Where rustup's Rust has the linkers of components.
fn linkers() -> [PathBuf; 2] {
    let printed = |arguments: &[&str]| ended(Command::new("rustc").args(arguments)).stdout;
    let host = printed(&["--print", "host-tuple"]);
    let library =
        PathBuf::from(printed(&["--print", "sysroot"]).trim()).join("lib/rustlib").join(host.trim());
    [library.join("bin"), library.join("bin/gcc-ld")]
}
