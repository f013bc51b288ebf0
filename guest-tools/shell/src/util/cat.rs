//! `cat`

use super::input;
use super::options::Spelling;
use crate::shell::Shell;
use crate::stop::Status;

const SPELLING: Spelling = Spelling::new(
    "AbeEnstTuv",
    &[
        ("number", 'n'),
        ("number-nonblank", 'b'),
        ("show-all", 'A'),
        ("show-ends", 'E'),
        ("show-tabs", 'T'),
        ("squeeze-blank", 's'),
        ("show-nonprinting", 'v'),
    ],
);

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = SPELLING.read(arguments)?;
    let mut status = 0;
    let mut decorate = Decorate::new(&options);
    let mut out = shell.out();
    for name in options.inputs() {
        let Some(handle) = input::open(shell, "cat", &name).await? else {
            status = 1;
            continue;
        };
        if decorate.is_plain() {
            loop {
                let chunk = handle.chunk().await?;
                if chunk.is_empty() {
                    break;
                }
                out.put(chunk);
                out.check().await?;
            }
        } else {
            let mut line = Vec::new();
            loop {
                line.clear();
                if !handle.until(b'\n', &mut line).await? {
                    break;
                }
                out.put(decorate.line(&line));
                out.check().await?;
            }
        }
        out.flush().await?;
    }
    Ok(status)
}

struct Decorate {
    number: bool,
    nonblank: bool,
    squeeze: bool,
    ends: bool,
    tabs: bool,
    visible: bool,
    count: u64,
    blanks: u32,
    continues: bool,
}

impl Decorate {
    fn new(options: &super::options::Options) -> Self {
        let has = |letters: &str| letters.chars().any(|letter| options.has(letter));
        Self {
            number: has("n"),
            nonblank: has("b"),
            squeeze: has("s"),
            ends: has("AEe"),
            tabs: has("ATt"),
            visible: has("Avet"),
            count: 0,
            blanks: 0,
            continues: false,
        }
    }

    fn is_plain(&self) -> bool {
        !(self.number || self.nonblank || self.squeeze || self.ends || self.tabs || self.visible)
    }

    fn line(&mut self, line: &[u8]) -> Vec<u8> {
        let blank = line == b"\n";
        self.blanks = if blank { self.blanks + 1 } else { 0 };
        if self.squeeze && self.blanks > 1 {
            return Vec::new();
        }
        let mut out = Vec::new();
        if !self.continues && ((self.nonblank && !blank) || (self.number && !self.nonblank)) {
            self.count += 1;
            out.extend(format!("{:6}\t", self.count).into_bytes());
        }
        let (body, ended) = line.strip_suffix(b"\n").map_or((line, false), |body| (body, true));
        for byte in body {
            match byte {
                b'\t' if self.tabs => out.extend_from_slice(b"^I"),
                b'\t' => out.push(b'\t'),
                _ if self.visible => visible(*byte, &mut out),
                byte => out.push(*byte),
            }
        }
        self.continues = !ended;
        if ended {
            if self.ends {
                out.push(b'$');
            }
            out.push(b'\n');
        }
        out
    }
}

fn visible(byte: u8, out: &mut Vec<u8>) {
    let mut byte = byte;
    if byte >= 128 {
        out.extend_from_slice(b"M-");
        byte -= 128;
    }
    match byte {
        0..=31 => out.extend_from_slice(&[b'^', byte + 64]),
        127 => out.extend_from_slice(b"^?"),
        _ => out.push(byte),
    }
}
