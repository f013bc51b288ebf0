//! The custom section in a component's bytes: finding, reading and writing it.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use wasmparser::BinaryReader;

use crate::{Package, PackageError};

/// The custom section's name.
pub const SECTION: &str = "toolcell:tool";

/// The largest section that is read or written, 1 MiB: documentation is for a model's context, which is smaller,
/// and the section is read before anything of a file is trusted.
pub const MAX_BYTES: usize = 1 << 20;

/// The newest format. It rises only if readers of the older ones would misunderstand; additions do not raise it.
const FORMAT: u64 = 1;

/// Magic, version and layer of a component.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

#[derive(Deserialize)]
struct Head {
    format: u64,
}

#[derive(Serialize)]
struct Written<'a> {
    format: u64,
    package: &'a Package,
}

#[derive(Deserialize)]
struct Read {
    package: Package,
}

/// Reads the section of a component; `None` if there is none. Sections of nested modules and components do not
/// count: only the whole component's author speaks for it.
///
/// # Errors
/// The bytes are no component, or the section is there and damaged, doubled, too large or of a newer format.
pub fn read(component: &[u8]) -> Result<Option<Package>, PackageError> {
    let mut found = None;
    for section in sections(component)? {
        let Some(data) = own_data(component, &section)? else { continue };
        if found.replace(data).is_some() {
            return Err(PackageError::SeveralSections);
        }
    }
    found.map(parse).transpose()
}

/// The component with `package` as its section, in place of whatever sections of that name it had.
///
/// # Errors
/// The bytes are no component, or the package is larger than [`MAX_BYTES`].
pub fn append(component: &[u8], package: &Package) -> Result<Vec<u8>, PackageError> {
    let json = serde_json::to_vec(&Written { format: FORMAT, package })
        .map_err(|error| PackageError::DamagedSection(error.to_string()))?;
    within_bound(json.len())?;
    let mut packed = COMPONENT.to_vec();
    for section in sections(component)? {
        if own_data(component, &section)?.is_none() {
            packed.extend_from_slice(bytes(component, section.whole)?);
        }
    }
    let mut body = Vec::with_capacity(json.len() + SECTION.len() + 1);
    push_size(&mut body, SECTION.len())?;
    body.extend_from_slice(SECTION.as_bytes());
    body.extend_from_slice(&json);
    packed.push(CUSTOM);
    push_size(&mut packed, body.len())?;
    packed.extend_from_slice(&body);
    Ok(packed)
}

fn parse(json: &[u8]) -> Result<Package, PackageError> {
    within_bound(json.len())?;
    let damaged = |error: serde_json::Error| PackageError::DamagedSection(error.to_string());
    let Head { format } = serde_json::from_slice(json).map_err(damaged)?;
    match format {
        FORMAT => Ok(serde_json::from_slice::<Read>(json).map_err(damaged)?.package),
        found => Err(PackageError::Format { found, known: FORMAT }),
    }
}

fn within_bound(size: usize) -> Result<(), PackageError> {
    match size <= MAX_BYTES {
        true => Ok(()),
        false => Err(PackageError::TooLarge { size, limit: MAX_BYTES }),
    }
}

/// The id of a custom section.
const CUSTOM: u8 = 0;

/// One section of the component's top level; nested modules and components are one section each.
struct Section {
    id: u8,
    whole: Range<usize>,
    body: Range<usize>,
}

/// The component's sections in order, without looking inside.
fn sections(component: &[u8]) -> Result<Vec<Section>, PackageError> {
    let Some(rest) = component.strip_prefix(COMPONENT) else {
        return Err(PackageError::NotAComponent(what_it_is(component)));
    };
    let mut reader = BinaryReader::new(rest, COMPONENT.len());
    let mut found = Vec::new();
    while !reader.eof() {
        found.push(section(&mut reader).map_err(|error| PackageError::DamagedComponent(error.to_string()))?);
    }
    Ok(found)
}

fn section(reader: &mut BinaryReader<'_>) -> wasmparser::Result<Section> {
    let start = reader.original_position();
    let id = reader.read_u8()?;
    let body = reader.read_reader()?.range();
    Ok(Section { id, whole: start..body.end, body })
}

fn what_it_is(file: &[u8]) -> &'static str {
    match file {
        [] => "the file is empty",
        [b'\0', b'a', b's', b'm', 1, 0, 0, 0, ..] => {
            "this is a core module, not a component; build it for wasm32-wasip2 and pack the result"
        }
        [b'\0', b'a', b's', b'm', ..] => "this is WebAssembly of an unknown version, not a component",
        _ => "this is not WebAssembly; give a component built for wasm32-wasip2",
    }
}

/// The data of `section` if it is ours.
fn own_data<'a>(component: &'a [u8], section: &Section) -> Result<Option<&'a [u8]>, PackageError> {
    if section.id != CUSTOM {
        return Ok(None);
    }
    let body = bytes(component, section.body.clone())?;
    let mut reader = BinaryReader::new(body, section.body.start);
    let name = reader.read_string().map_err(|error| PackageError::DamagedComponent(error.to_string()))?;
    Ok((name == SECTION).then(|| body.get(reader.current_position()..).unwrap_or_default()))
}

fn bytes(component: &[u8], range: Range<usize>) -> Result<&[u8], PackageError> {
    component
        .get(range)
        .ok_or_else(|| PackageError::DamagedComponent("a section ends past the file".to_owned()))
}

/// Writes `size` as LEB128.
fn push_size(out: &mut Vec<u8>, size: usize) -> Result<(), PackageError> {
    let mut rest = u32::try_from(size).map_err(|_| PackageError::TooLarge { size, limit: MAX_BYTES })?;
    loop {
        let [low, ..] = rest.to_le_bytes();
        rest >>= 7;
        if rest == 0 {
            out.push(low & 0x7f);
            return Ok(());
        }
        out.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn component(text: &str) -> Vec<u8> {
        wat::parse_str(text).unwrap()
    }

    fn described(instructions: &str) -> Package {
        Package { instructions: Some(instructions.to_owned()), ..Package::default() }
    }

    fn with_section(data: &str) -> Vec<u8> {
        component(&format!("(component (@custom \"toolcell:tool\" {data:?}))"))
    }

    #[test]
    fn what_is_appended_is_read_back() {
        let bare = component("(component (core module) (@custom \"other\" \"x\"))");
        assert_eq!(read(&bare), Ok(None));
        let packed = append(&bare, &described("one")).unwrap();
        assert_eq!(read(&packed), Ok(Some(described("one"))));
        assert!(packed.starts_with(&bare));
        wasmparser::validate(&packed).unwrap();
    }

    #[test]
    fn a_second_packing_replaces_the_first() {
        let bare = component("(component)");
        let first = append(&bare, &described("one")).unwrap();
        let second = append(&first, &described("two")).unwrap();
        assert_eq!(read(&second), Ok(Some(described("two"))));
        assert_eq!(second.len(), first.len());
        // A damaged section is no obstacle to replacing it.
        assert_eq!(
            read(&append(&with_section("not json"), &described("x")).unwrap()),
            Ok(Some(described("x")))
        );
    }

    #[test]
    fn only_the_top_level_counts() {
        let nested = component(
            r#"(component
                (core module (@custom "toolcell:tool" "x"))
                (component (@custom "toolcell:tool" "y")))"#,
        );
        assert_eq!(read(&nested), Ok(None));
        let packed = append(&nested, &described("outer")).unwrap();
        assert_eq!(read(&packed), Ok(Some(described("outer"))));
    }

    #[test]
    fn members_that_are_not_known_are_ignored() {
        let read = read(&with_section(
            r#"{"format":1,"later":[1],"package":{"instructions":"i","mood":"good","tools":{"f":{"hints":{"calm":true}}}}}"#,
        ));
        let package = read.unwrap().unwrap();
        assert_eq!(package.instructions.as_deref(), Some("i"));
        assert!(package.tools.contains_key("f"));
    }

    #[test]
    fn a_wrong_section_is_an_error_that_says_so() {
        for (data, expected) in [
            ("", "damaged"),
            ("[1", "damaged"),
            ("{\"package\":{}}", "missing field `format`"),
            ("{\"format\":1}", "missing field `package`"),
            ("{\"format\":1,\"package\":{\"tools\":[]}}", "damaged"),
            ("{\"format\":2,\"package\":5}", "format 2, this version reads up to 1"),
        ] {
            let message = read(&with_section(data)).unwrap_err().to_string();
            assert!(message.contains(expected), "{data}: {message}");
        }
        let deep = format!("{{\"format\":1,\"package\":{}", "[".repeat(100_000));
        assert!(matches!(read(&with_section(&deep)), Err(PackageError::DamagedSection(_))));
        let two = component(r#"(component (@custom "toolcell:tool" "{}") (@custom "toolcell:tool" "{}"))"#);
        assert_eq!(read(&two), Err(PackageError::SeveralSections));
    }

    #[test]
    fn a_section_is_bounded_in_size() {
        let large = with_section(&" ".repeat(MAX_BYTES + 1));
        assert!(matches!(read(&large), Err(PackageError::TooLarge { .. })));
        let long = described(&"x".repeat(MAX_BYTES));
        assert!(matches!(append(&component("(component)"), &long), Err(PackageError::TooLarge { .. })));
    }

    #[test]
    fn what_is_no_component_is_refused() {
        for (file, expected) in [
            (Vec::new(), "empty"),
            (component("(module)"), "core module"),
            (b"\x7fELF".to_vec(), "not WebAssembly"),
            (b"\0asm\x09\0\x01\0".to_vec(), "unknown version"),
        ] {
            for message in [
                read(&file).unwrap_err().to_string(),
                append(&file, &Package::default()).unwrap_err().to_string(),
            ] {
                assert!(message.contains(expected), "{message}");
            }
        }
    }

    #[test]
    fn a_cut_component_is_damaged_wherever_it_is_cut() {
        let whole = append(&component("(component (core module))"), &described("text")).unwrap();
        for length in COMPONENT.len() + 1..whole.len() {
            // A cut between two sections leaves a smaller component.
            if let Ok(found) = read(&whole[..length]) {
                assert_eq!(found, None);
            }
        }
        assert!(matches!(read(&whole[..whole.len() - 1]), Err(PackageError::DamagedComponent(_))));
    }
}
