//! The depth of a section of component types, found without recursion.

use wasmparser::{
    BinaryReader, ComponentAlias, ComponentExternName, ComponentImport, ComponentType, ComponentTypeRef,
    CoreType, Result,
};

/// Levels that types, and components, may be nested in one another. The validator allows as many for the types of
/// values; for types of instances and components it has no bound and reads them by recursion, so that a few
/// hundred kilobytes would overflow the stack.
pub(super) const MAX_DEPTH: usize = 100;

/// Leading bytes of the types that contain declarations.
const COMPONENT_TYPE: u8 = 0x41;
const INSTANCE_TYPE: u8 = 0x42;

/// Whether instance and component types in a section of types stay within [`MAX_DEPTH`].
///
/// # Errors
/// The section is malformed.
pub(super) fn is_shallow(section: &[u8], offset: usize) -> Result<bool> {
    let mut reader = BinaryReader::new(section, offset);
    // How many items are left at each level; the outermost level holds types, the others declarations.
    let mut left = vec![reader.read_var_u32()?];
    while let Some(count) = left.last_mut() {
        if *count == 0 {
            left.pop();
            continue;
        }
        *count -= 1;
        let is_type = left.len() == 1 || declares_type(&mut reader)?;
        if is_type && let Some(declarations) = open_type(&mut reader)? {
            if left.len() >= MAX_DEPTH {
                return Ok(false);
            }
            left.push(declarations);
        }
    }
    Ok(true)
}

/// Reads the start of a type: the number of its declarations, or all of a type that has none.
fn open_type(reader: &mut BinaryReader<'_>) -> Result<Option<u32>> {
    match reader.clone().read_u8()? {
        COMPONENT_TYPE | INSTANCE_TYPE => {
            reader.read_u8()?;
            reader.read_var_u32().map(Some)
        }
        _ => reader.read::<ComponentType<'_>>().map(|_| None),
    }
}

/// Reads a declaration up to the type that it declares, or all of one that declares something else.
fn declares_type(reader: &mut BinaryReader<'_>) -> Result<bool> {
    match reader.read_u8()? {
        0x00 => reader.read::<CoreType<'_>>().map(|_| false),
        0x01 => Ok(true),
        0x02 => reader.read::<ComponentAlias<'_>>().map(|_| false),
        0x03 => reader.read::<ComponentImport<'_>>().map(|_| false),
        // An export. Another byte is malformed, and the validator, which comes after, says so.
        _ => {
            reader.read::<ComponentExternName<'_>>()?;
            reader.read::<ComponentTypeRef>().map(|_| false)
        }
    }
}
