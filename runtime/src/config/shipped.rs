//! Shipped tools that are too large to be in the program.

use std::path::{Path, PathBuf};

/// Their names: each is a file, `NAME.wasm`.
const BESIDE: [&str; 1] = ["python"];

/// Whether the shipped tool of that name is a file beside the program.
pub fn is_beside(name: &str) -> bool {
    BESIDE.contains(&name)
}

/// Where the shipped tool of that name is looked for, if it is not in the program: beside the program that runs, or in
/// `../lib/toolcell` from there. The first of both where there is none.
pub fn shipped_file(name: &str) -> Option<PathBuf> {
    if !is_beside(name) {
        return None;
    }
    let program = std::env::current_exe().ok()?;
    Some(file_near(program.parent()?, &format!("{name}.wasm")))
}

fn file_near(folder: &Path, file: &str) -> PathBuf {
    let beside = folder.join(file);
    let library = folder.parent().map(|above| above.join("lib/toolcell").join(file));
    match library {
        Some(library) if !beside.exists() && library.exists() => library,
        _ => beside,
    }
}
