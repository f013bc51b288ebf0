//! Opening what is there to be read, and only that.

use std::fs::{self, File};
use std::path::Path;

use granted::{Grants, show};

/// Opens the regular file at `path` and tells its size. The type is looked at first: opening a pipe could wait for
/// ever.
pub fn open(grants: &Grants, path: &Path) -> Result<(File, u64), String> {
    let metadata = fs::metadata(path).map_err(|error| grants.explain("read", path, &error))?;
    if metadata.is_dir() {
        return Err(format!("{} is a folder; list_dir shows what is in it", show(path)));
    }
    if !metadata.is_file() {
        return Err(format!("{} is not a regular file", show(path)));
    }
    let file = File::open(path).map_err(|error| grants.explain("read", path, &error))?;
    Ok((file, metadata.len()))
}

/// Checks that `path` is a folder.
pub fn folder(grants: &Grants, path: &Path) -> Result<(), String> {
    let metadata = fs::metadata(path).map_err(|error| grants.explain("list", path, &error))?;
    if metadata.is_dir() { Ok(()) } else { Err(format!("{} is not a folder", show(path))) }
}
