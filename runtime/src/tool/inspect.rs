//! What a file is, found by reading it: nothing is compiled and no guest code runs.

mod file_kind;
mod hook;
mod imports;
mod lints;
mod nesting;
mod not_a_tool;
mod served;
mod signatures;
mod structure;

use std::panic::{AssertUnwindSafe, catch_unwind};

use toolcell_package::{Export, Package};
use wit_parser::decoding::{DecodedWasm, decode};
use wit_parser::{Resolve, WorldId};

use crate::output::clean_value;

pub use imports::{ImportReport, NeededGrant, UnmetImport, classify_imports};
pub use lints::{Lint, lints};
pub use not_a_tool::NotATool;
pub use served::Capability;
pub use structure::{Footprint, Import, ImportKind};

/// The largest component that is looked at, 256 MiB. Components of interpreted languages take 10 to 40 MB; what is
/// larger costs more memory to inspect and compile than a tool is worth.
pub const MAX_COMPONENT_BYTES: usize = 256 << 20;

/// A component that has something to call.
#[derive(Debug)]
#[non_exhaustive]
pub struct Inspection {
    /// The component's types as WIT.
    pub resolve: Resolve,
    /// The component's world in `resolve`.
    pub world: WorldId,
    /// What the component carries of documentation and hints.
    pub package: Option<Package>,
    /// What the component imports, as it spells it, without mere type definitions.
    pub imports: Vec<Import>,
    /// Whether the component exports `wasi:cli/run` of WASI 0.2.
    pub is_command: bool,
    /// Whether the component exports `toolcell:tool/tools` of version 1.
    pub is_provider: bool,
    /// Whether the component exports `toolcell:tool/hook` of version 1.
    pub is_hook: bool,
    /// What one instance of the component begins with.
    pub footprint: Footprint,
}

impl Inspection {
    /// The exported functions in order, the world's own and those of interfaces, without the entry points of
    /// commands and providers.
    pub fn functions(&self) -> Vec<Export<'_>> {
        toolcell_package::exports(&self.resolve, self.world)
    }

    /// The entry points of a provider.
    pub(crate) fn provider_functions(&self) -> Vec<Export<'_>> {
        toolcell_package::entry_exports(&self.resolve, self.world, "toolcell:tool/tools@")
    }
}

/// Finds out what `bytes`, a file's whole content, are.
///
/// # Errors
/// The file is not a component that can be a tool. The error says what it is and what to do.
pub fn inspect(bytes: &[u8]) -> Result<Inspection, NotATool> {
    file_kind::expect_component(bytes)?;
    if bytes.len() > MAX_COMPONENT_BYTES {
        return Err(NotATool::too_much("bytes", bytes.len() as u64, MAX_COMPONENT_BYTES as u64));
    }
    // The validator and the decoder see hostile input here. The validator asserts, for one, that types of instances
    // are not too deep, and no such file may take the other tools down.
    catch_unwind(AssertUnwindSafe(|| component(bytes)))
        .unwrap_or_else(|_| Err(NotATool::Damaged("its types are malformed or too deep".to_owned())))
}

/// Validates a component's code, which [`inspect`] leaves to the compiler since it takes longer than a call may wait.
///
/// # Errors
/// The code is not what a compiler takes.
pub fn check_code(bytes: &[u8]) -> Result<(), NotATool> {
    catch_unwind(AssertUnwindSafe(|| structure::code(bytes)))
        .unwrap_or_else(|_| Err(NotATool::Damaged("its code is malformed".to_owned())))
}

/// The package with its texts cleaned: they are the author's, and reach terminals and models.
pub(super) fn readable(package: Package) -> Package {
    let cleaned = serde_json::to_value(&package).map(|mut value| {
        clean_value(&mut value);
        value
    });
    cleaned.and_then(serde_json::from_value).unwrap_or(package)
}

fn component(bytes: &[u8]) -> Result<Inspection, NotATool> {
    let structure = structure::structure(bytes)?;
    let package = toolcell_package::read(bytes)?.map(readable);
    let (resolve, world) = match decode(bytes) {
        Ok(DecodedWasm::Component(resolve, world)) => (resolve, world),
        Ok(DecodedWasm::WitPackage(..)) => return Err(NotATool::WitPackage),
        Err(error) => return Err(NotATool::NotWit(format!("{error:#}"))),
    };
    let command = entry(&structure.exports, "wasi:cli/run", served::is_wasi_0_2);
    let provider = entry(&structure.exports, "toolcell:tool/tools", served::is_tool_1);
    let hook = entry(&structure.exports, "toolcell:tool/hook", served::is_tool_1);
    let inspection = Inspection {
        is_command: command.is_ok_and(|found| found),
        is_provider: provider.is_ok_and(|found| found),
        is_hook: hook.is_ok_and(|found| found),
        package,
        imports: structure.imports,
        footprint: structure.footprint,
        resolve,
        world,
    };
    let functions = inspection.functions();
    signatures::within_bounds(&inspection.resolve, &functions)?;
    let has_entry = inspection.is_command || inspection.is_provider || inspection.is_hook;
    if functions.is_empty() && !has_entry {
        let other_version = command.and(provider).and(hook).err();
        return Err(
            other_version.map_or(NotATool::NoFunctions, |name| NotATool::EntryVersion(name.to_owned()))
        );
    }
    Ok(inspection)
}

/// Whether `interface` is exported in a version that `serves` knows; `Err` with the name if only in another one.
fn entry<'a>(exports: &'a [String], interface: &str, serves: fn(&str) -> bool) -> Result<bool, &'a str> {
    let mut other = None;
    for export in exports {
        match export.split_once('@') {
            Some((name, version)) if name == interface && serves(version) => return Ok(true),
            Some((name, _)) if name == interface => other = Some(export.as_str()),
            _ => {}
        }
    }
    other.map_or(Ok(false), Err)
}

#[cfg(test)]
#[path = "inspect/tests.rs"]
mod tests;
