//! A secret inside of JSON strings, as common libraries write them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// What a library escapes beyond what JSON asks for.
#[derive(Clone, Copy)]
struct Escapes {
    /// By code, whatever else JSON has for them.
    coded: &'static str,
    /// A slash behind a backslash.
    slash: bool,
    /// Everything beyond ASCII.
    ascii: bool,
    /// Codes in capitals.
    upper: bool,
}

/// What libraries write as codes: nothing; what HTML means something by, in the order in which one stops escaping; the
/// sets of Gson, of .NET, of what writes scripts into pages, and of templates.
const CODED: [&str; 8] = ["", "<>&", "<>&'", "<>&'\"", "<>&'=", "<>&'\"+`", "<>/", "<>&'\"=-;`\\"];

/// Those that are also looked for within JSON of another library.
const COMMON: [&str; 2] = ["", "<>&'"];

/// Every way, and each of them within a JSON string again.
pub(super) fn nested(text: &str) -> BTreeSet<String> {
    let mut all = escaped(text, &CODED);
    let twice: Vec<String> = all.iter().flat_map(|once| escaped(once, &COMMON)).collect();
    all.extend(twice);
    all
}

/// The commonest ways, and each of them within a JSON string of the same library.
pub(super) fn alike(text: &str) -> BTreeSet<String> {
    let again = |way: Escapes| {
        let once = written(text, way);
        [written(&once, way), once]
    };
    ways(&COMMON).flat_map(again).collect()
}

/// The ways in which the two signs of base64 are escaped.
pub(super) fn of_base64(text: &str) -> BTreeSet<String> {
    escaped(text, &["", "<>&'\"+`", "<>/"])
}

/// By what has the fewest escapes, and by what writes ASCII alone.
pub(super) fn plain(text: &str) -> BTreeSet<String> {
    let way = |ascii| written(text, Escapes { coded: "", slash: false, ascii, upper: false });
    [false, true].into_iter().map(way).collect()
}

/// The commonest ways, once.
pub(super) fn common(text: &str) -> BTreeSet<String> {
    escaped(text, &COMMON)
}

/// Those of them that markup, which is ASCII already, is written in.
pub(super) fn of_markup(text: &str) -> BTreeSet<String> {
    let way = |coded| {
        [false, true].map(|slash| written(text, Escapes { coded, slash, ascii: false, upper: false }))
    };
    COMMON.into_iter().flat_map(way).collect()
}

fn escaped(text: &str, sets: &[&'static str]) -> BTreeSet<String> {
    ways(sets).map(|way| written(text, way)).collect()
}

fn ways(sets: &[&'static str]) -> impl Iterator<Item = Escapes> {
    let of_set = |coded: &&'static str| {
        let coded = *coded;
        (0..8_u8).map(move |bits| Escapes {
            coded,
            slash: bits & 1 != 0,
            ascii: bits & 2 != 0,
            upper: bits & 4 != 0,
        })
    };
    sets.iter().flat_map(of_set)
}

fn written(text: &str, escapes: Escapes) -> String {
    let mut written = String::new();
    for letter in text.chars() {
        match letter {
            letter if escapes.coded.contains(letter) => code(&mut written, letter, escapes.upper),
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\t' => written.push_str("\\t"),
            '\u{8}' => written.push_str("\\b"),
            '\u{c}' => written.push_str("\\f"),
            '/' if escapes.slash => written.push_str("\\/"),
            letter if u32::from(letter) < 0x20 || (escapes.ascii && !letter.is_ascii()) => {
                code(&mut written, letter, escapes.upper);
            }
            letter => written.push(letter),
        }
    }
    written
}

fn code(written: &mut String, letter: char, upper: bool) {
    for unit in letter.encode_utf16(&mut [0; 2]) {
        let _ = if upper { write!(written, "\\u{unit:04X}") } else { write!(written, "\\u{unit:04x}") };
    }
}
