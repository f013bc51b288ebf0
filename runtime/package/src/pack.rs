//! Packing as a whole: a component's file and its folder of WIT in, the described component out.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use wit_parser::decoding::{DecodedWasm, decode};

use crate::{Package, PackageError, Undescribed, append, exports, parse_wit};

/// One component to pack.
#[derive(Debug, Clone, Copy)]
pub struct Packing<'a> {
    /// The component, packed before or not.
    pub input: &'a Path,
    /// The folder of WIT, with its `deps`, that it was built from.
    pub wit: &'a Path,
    /// The world; may be left out where there is one.
    pub world: Option<&'a str>,
    /// Where the packed component goes; may be `input`.
    pub output: &'a Path,
}

impl Packing<'_> {
    /// Writes the packed component, whole or not at all, and returns what a model would be told nothing about.
    ///
    /// # Errors
    /// A file cannot be read or written, the WIT or one of its comments is wrong, the input is no component, or it
    /// does not export what the world does.
    pub fn run(&self) -> Result<Vec<Undescribed>, PackageError> {
        let component = fs::read(self.input).map_err(|error| in_file(self.input, error))?;
        let (resolve, world) = parse_wit(self.wit, self.world)?;
        let package = Package::from_wit(&resolve, world).map_err(|error| in_file(self.wit, error))?;
        let packed = append(&component, &package).map_err(|error| in_file(self.input, error))?;

        let there = exported_keys(&component).map_err(|message| in_file(self.input, message))?;
        let missing: Vec<String> = exports(&resolve, world)
            .iter()
            .filter(|export| !there.contains(&export.key))
            .map(|export| format!("`{}`", export.key))
            .collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            let message =
                format!("it does not export {missing}; give `--wit` and `--world` that it was built from");
            return Err(in_file(self.input, message));
        }
        write_atomically(self.output, &packed).map_err(|error| PackageError::Write {
            path: self.output.to_owned(),
            message: error.to_string(),
        })?;
        Ok(package.undescribed(&resolve, world))
    }
}

fn in_file(path: &Path, message: impl ToString) -> PackageError {
    PackageError::In { path: path.to_owned(), message: message.to_string() }
}

fn exported_keys(component: &[u8]) -> Result<BTreeSet<String>, String> {
    match decode(component) {
        Ok(DecodedWasm::Component(resolve, world)) => {
            Ok(exports(&resolve, world).into_iter().map(|export| export.key).collect())
        }
        Ok(DecodedWasm::WitPackage(..)) => Err("this is WIT in binary form; give the component".to_owned()),
        Err(error) => Err(format!("the component is damaged: {error:#}")),
    }
}

/// Writes beside `path` and renames, so that a reader sees the old file or the new one, never a part.
fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}", std::process::id()));
    let temporary = path.with_file_name(temporary);
    let written = File::create_new(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first failure is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written
}
