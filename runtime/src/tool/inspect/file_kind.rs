//! What kind of file some bytes are, by how they begin.

use wasmparser::{Parser, Payload};

use super::NotATool;

/// Magic, version and layer of a component.
const COMPONENT: [u8; 8] = *b"\0asm\x0d\0\x01\0";

/// Text is judged by this much of its beginning.
const TEXT_PROBE_BYTES: usize = 64 << 10;

/// Passes what begins like a component.
pub(super) fn expect_component(bytes: &[u8]) -> Result<(), NotATool> {
    if bytes.starts_with(&COMPONENT) {
        return Ok(());
    }
    Err(match bytes {
        [] => NotATool::Empty,
        [b'\0', b'a', b's', b'm', 1, 0, 0, 0, ..] => NotATool::CoreModule(core_module(bytes)),
        [b'\0', b'a', b's', b'm', _, 0, 1, 0, ..] => NotATool::OtherFile(
            "this is a component of another draft of the format; build it with current tools",
        ),
        [b'\0', b'a', b's', b'm', _, _, _, _, ..] => {
            NotATool::OtherFile("this is WebAssembly of an unknown version; build it for wasm32-wasip2")
        }
        _ if b"\0asm".starts_with(bytes) || bytes.starts_with(b"\0asm") => {
            NotATool::Truncated { bytes: bytes.len(), within: "the header" }
        }
        // wasmtime marks its compiled code in the field that names the operating system.
        [0x7f, b'E', b'L', b'F', _, _, _, 200, ..] => NotATool::Precompiled,
        _ => NotATool::OtherFile(other(bytes)),
    })
}

fn core_module(bytes: &[u8]) -> &'static str {
    if imports_preview1(bytes) {
        "this is a core module for WASI preview 1 (wasip1), not a component; build it for wasm32-wasip2, \
         or wrap it: `wasm-tools component new --adapt wasi_snapshot_preview1.reactor.wasm`"
    } else {
        "this is a core module, not a component; build it for wasm32-wasip2, \
         or wrap it with an adapter: `wasm-tools component new`"
    }
}

fn imports_preview1(bytes: &[u8]) -> bool {
    for payload in Parser::new(0).parse_all(bytes) {
        match payload {
            Ok(Payload::ImportSection(section)) => {
                return section
                    .into_imports()
                    .map_while(Result::ok)
                    .any(|import| import.module == "wasi_snapshot_preview1");
            }
            // Imports come before code; what follows is not read.
            Ok(Payload::CodeSectionStart { .. }) | Err(_) => return false,
            Ok(_) => {}
        }
    }
    false
}

const NOT_A_COMPONENT: &str = "this is neither a component nor any other kind of file that is known here; \
                               give a component built for wasm32-wasip2";

fn other(bytes: &[u8]) -> &'static str {
    match bytes {
        [0x7f, b'E', b'L', b'F', ..] => "this is an ELF binary, a native program; build it for wasm32-wasip2",
        [0xfe, 0xed, 0xfa, 0xce | 0xcf, ..]
        | [0xce | 0xcf, 0xfa, 0xed, 0xfe, ..]
        | [0xca, 0xfe, 0xba, 0xbe, ..] => {
            "this is a Mach-O binary, a native program; build it for wasm32-wasip2"
        }
        [b'M', b'Z', ..] => "this is a Windows program; build it for wasm32-wasip2",
        [b'P', b'K', 3, 4, ..] => "this is a zip archive; unpack it and give the component",
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            "this is compressed; unpack it and give the component"
        }
        [b'!', b'<', b'a', b'r', b'c', b'h', b'>', ..] => "this is a static library; link it to a component",
        [b'#', b'!', ..] => "this is a script; tools are components, built for wasm32-wasip2",
        _ => text(bytes).map_or(NOT_A_COMPONENT, text_kind),
    }
}

/// The beginning of `bytes` if it is text.
fn text(bytes: &[u8]) -> Option<&str> {
    let probe = bytes.get(..TEXT_PROBE_BYTES).unwrap_or(bytes);
    let text = match std::str::from_utf8(probe) {
        Ok(text) => text,
        // The probe may end within a character.
        Err(error) if error.error_len().is_none() => {
            probe.get(..error.valid_up_to()).and_then(|valid| std::str::from_utf8(valid).ok())?
        }
        Err(_) => return None,
    };
    (!text.contains('\0')).then_some(text)
}

fn text_kind(text: &str) -> &'static str {
    let code = text.lines().map(str::trim).filter(|line| {
        !line.is_empty() && !["//", ";;", "/*", "*"].iter().any(|comment| line.starts_with(comment))
    });
    let first = code.clone().next().unwrap_or_default();
    if first.starts_with("(component") {
        return "this is a component in text form (WAT); make it binary: `wasm-tools parse FILE -o OUT.wasm`";
    }
    if first.starts_with("(module") {
        return "this is a core module in text form (WAT), not a component; build for wasm32-wasip2";
    }
    let starts = |words: &[&str], line: &str| words.iter().any(|word| line.starts_with(word));
    let is_wit = starts(&["package ", "interface ", "world ", "@"], first)
        && code.clone().any(|line| starts(&["interface ", "world "], line));
    if is_wit {
        return "this is WIT, the description of a component; give the component that implements it";
    }
    if first.starts_with("version https://git-lfs") {
        return "this is a pointer to a file in Git LFS; fetch the file itself: `git lfs pull`";
    }
    if first.starts_with('<') {
        return "this is a web page or other markup, perhaps in place of a download; give the component";
    }
    "this is text, not a component; give a component built for wasm32-wasip2"
}
