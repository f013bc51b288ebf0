//! Bytes as numbers: `od` and `xxd`.

use super::input;
use super::options::{Options, Spelling, size};
use crate::shell::Shell;
use crate::stop::{Status, Stop, fail};

/// Bytes of a line.
const LINE: usize = 16;

const OD: Spelling = Spelling::new(
    "A:t:N:j:w:vbcdoxX",
    &[
        ("address-radix", 'A'),
        ("format", 't'),
        ("read-bytes", 'N'),
        ("skip-bytes", 'j'),
        ("width", 'w'),
        ("output-duplicates", 'v'),
    ],
);

/// How one number of a line is shown.
#[derive(Clone, Copy)]
struct Format {
    kind: char,
    bytes: usize,
    /// Whether the letters follow.
    letters: bool,
}

fn formats(options: &Options) -> Result<Vec<Format>, Stop> {
    let mut formats = Vec::new();
    let mut add = |kind, bytes, letters| formats.push(Format { kind, bytes, letters });
    for (letter, value) in options.given() {
        match letter {
            'b' => add('o', 1, false),
            'c' => add('c', 1, false),
            'd' => add('u', 2, false),
            'o' => add('o', 2, false),
            'x' => add('x', 2, false),
            'X' => add('x', 4, false),
            't' => {
                let letters = value.ends_with('z');
                let text = value.trim_end_matches('z');
                let kind = text.chars().next().unwrap_or_default();
                let bytes = match text.get(1..).unwrap_or_default() {
                    "" if kind == 'c' => 1,
                    "" | "4" | "I" => 4,
                    "1" | "C" => 1,
                    "2" | "S" => 2,
                    "8" | "L" => 8,
                    _ => 0,
                };
                if !"cdoux".contains(kind) || bytes == 0 || (kind == 'c' && bytes != 1) {
                    return fail(format!("invalid type string ‘{value}’"));
                }
                add(kind, bytes, letters);
            }
            _ => {}
        }
    }
    if formats.is_empty() {
        formats.push(Format { kind: 'o', bytes: 2, letters: false });
    }
    Ok(formats)
}

impl Format {
    /// The letters of the widest number, with the blank before it.
    fn width(self) -> usize {
        let digits = match (self.kind, self.bytes) {
            ('c', _) => 3,
            ('x', bytes) => 2 * bytes,
            ('o', bytes) => (8 * bytes).div_ceil(3),
            (kind, bytes) => {
                let digits = match bytes {
                    1 => 3,
                    2 => 5,
                    4 => 10,
                    _ => 20,
                };
                digits + usize::from(kind == 'd' && bytes < 8)
            }
        };
        digits + 1
    }

    fn number(self, bytes: &[u8]) -> String {
        let value = bytes.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
        let digits = self.width() - 1;
        match self.kind {
            'c' => letter(bytes.first().copied().unwrap_or(0)),
            'x' => format!("{value:0digits$x}"),
            'o' => format!("{value:0digits$o}"),
            'u' => value.to_string(),
            _ => {
                let unused = 64 - 8 * u32::try_from(self.bytes).unwrap_or(8);
                (i64::from_ne_bytes((value << unused).to_ne_bytes()) >> unused).to_string()
            }
        }
    }
}

fn letter(byte: u8) -> String {
    match byte {
        0 => "\\0".to_owned(),
        7 => "\\a".to_owned(),
        8 => "\\b".to_owned(),
        9 => "\\t".to_owned(),
        10 => "\\n".to_owned(),
        11 => "\\v".to_owned(),
        12 => "\\f".to_owned(),
        13 => "\\r".to_owned(),
        32..=126 => char::from(byte).to_string(),
        _ => format!("{byte:03o}"),
    }
}

fn printable(byte: u8) -> char {
    if (32..127).contains(&byte) { char::from(byte) } else { '.' }
}

fn number(options: &Options, letter: char) -> Result<Option<usize>, Stop> {
    let Some(text) = options.value(letter) else { return Ok(None) };
    let hexadecimal = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    match hexadecimal.or_else(|| size(text)).and_then(|number| usize::try_from(number).ok()) {
        Some(number) => Ok(Some(number)),
        None => fail(format!("invalid -{letter} argument '{text}'")),
    }
}

pub async fn od(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = OD.read(arguments)?;
    let formats = formats(&options)?;
    let mut bytes = Vec::new();
    for name in options.inputs() {
        bytes.extend(input::whole(shell, &name).await?);
    }
    let skip = number(&options, 'j')?.unwrap_or(0);
    if skip > bytes.len() {
        return fail("cannot skip past end of combined input");
    }
    bytes.drain(..skip);
    bytes.truncate(number(&options, 'N')?.unwrap_or(usize::MAX));
    let line = number(&options, 'w')?.filter(|width| *width > 0).unwrap_or(LINE);
    let address = |at: usize| match options.value('A').unwrap_or("o") {
        "n" => Ok(String::new()),
        "d" => Ok(format!("{at:07}")),
        "x" => Ok(format!("{at:06x}")),
        "o" => Ok(format!("{at:07o}")),
        other => fail(format!("invalid output address radix '{other}'")),
    };
    // Numbers of several kinds stand below each other.
    let each = formats.iter().map(|format| format.width().div_ceil(format.bytes)).max().unwrap_or(1);
    let mut out = shell.out();
    let (mut previous, mut starred) = (None, false);
    for (index, piece) in bytes.chunks(line).enumerate() {
        if previous == Some(piece) && piece.len() == line && !options.has('v') {
            if !std::mem::replace(&mut starred, true) {
                out.line("*");
            }
            continue;
        }
        (previous, starred) = (Some(piece), false);
        for (row, format) in formats.iter().enumerate() {
            let start = address(skip + index * line)?;
            let start = if row == 0 { start } else { " ".repeat(start.len()) };
            let width = if formats.len() > 1 { each * format.bytes } else { format.width() };
            let numbers: String =
                piece.chunks(format.bytes).map(|some| format!("{:>width$}", format.number(some))).collect();
            let mut text = format!("{start}{numbers}");
            if format.letters {
                let whole = start.len() + line.div_ceil(format.bytes) * width;
                let letters: String = piece.iter().map(|byte| printable(*byte)).collect();
                text = format!("{text:<whole$}  >{letters}<");
            }
            out.line(text);
        }
        out.check().await?;
    }
    let end = address(skip + bytes.len())?;
    if !end.is_empty() {
        out.line(end);
    }
    out.flush().await?;
    Ok(0)
}

const XXD: Spelling = Spelling::new("prul:s:c:g:", &[]);

pub async fn xxd(shell: &mut Shell, arguments: &[String]) -> Status {
    // Names of one letter more are common.
    let long = |text: &String| match text.as_str() {
        "-ps" | "-plain" | "-postscript" => "-p".to_owned(),
        "-revert" => "-r".to_owned(),
        "-len" => "-l".to_owned(),
        "-cols" => "-c".to_owned(),
        _ => text.clone(),
    };
    let arguments: Vec<String> = arguments.iter().map(long).collect();
    let options = XXD.read(&arguments)?;
    let name = options.operands.first().map_or("-", String::as_str);
    let mut bytes = input::whole(shell, name).await?;
    let mut out = shell.out();
    let plain = options.has('p');
    if options.has('r') {
        out.put(reverted(&String::from_utf8_lossy(&bytes), plain));
    } else {
        let skip = number(&options, 's')?.unwrap_or(0).min(bytes.len());
        bytes.drain(..skip);
        bytes.truncate(number(&options, 'l')?.unwrap_or(usize::MAX));
        let columns = number(&options, 'c')?.filter(|columns| *columns > 0);
        let columns = columns.unwrap_or(if plain { 30 } else { LINE });
        let group = number(&options, 'g')?.unwrap_or(2);
        let group = if group == 0 { columns } else { group };
        let hexadecimal =
            |byte: &u8| if options.has('u') { format!("{byte:02X}") } else { format!("{byte:02x}") };
        for (index, piece) in bytes.chunks(columns).enumerate() {
            let digits = |some: &[u8]| some.iter().map(hexadecimal).collect::<String>();
            if plain {
                out.line(digits(piece));
            } else {
                let width = 2 * columns + columns.div_ceil(group);
                let numbers: String = piece.chunks(group).map(|some| digits(some) + " ").collect();
                let letters: String = piece.iter().map(|byte| printable(*byte)).collect();
                out.line(format!("{:08x}: {numbers:<width$} {letters}", skip + index * columns));
            }
            out.check().await?;
        }
    }
    out.flush().await?;
    Ok(0)
}

/// The bytes of a dump; in one that is not plain, digits end at two blanks.
fn reverted(text: &str, plain: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut half = None;
    for line in text.lines() {
        let digits = if plain {
            line
        } else {
            let rest = line.split_once(": ").map_or("", |(_, rest)| rest);
            rest.split("  ").next().unwrap_or_default()
        };
        for digit in digits.chars().filter_map(|letter| letter.to_digit(16)) {
            let digit = u8::try_from(digit).unwrap_or(0);
            match half.take() {
                None => half = Some(digit),
                Some(first) => bytes.push(first << 4 | digit),
            }
        }
    }
    bytes
}
