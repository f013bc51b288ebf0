//! `stat`, `du`.

use std::fs::Metadata;

use super::ls::{human, occupied};
use super::options::Spelling;
use crate::clock::since_epoch;
use crate::files;
use crate::shell::Shell;
use crate::stop::{Status, Stop, fail, words};
use crate::stream::Out;

const STAT: Spelling = Spelling::new("c:Lp:ft", &[("format", 'c'), ("printf", 'p'), ("dereference", 'L')]);

pub async fn stat(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = STAT.read(arguments)?;
    if options.operands.is_empty() {
        return fail("missing operand");
    }
    let (mut out, mut status) = (shell.out(), 0);
    for name in &options.operands {
        let path = shell.path(name);
        let metadata =
            if options.has('L') { std::fs::metadata(&path) } else { std::fs::symlink_metadata(&path) };
        let metadata = match metadata {
            Ok(metadata) => metadata,
            Err(error) => {
                shell.warn(format!("stat: cannot statx '{name}': {}", words(&error))).await?;
                status = 1;
                continue;
            }
        };
        match (options.value('c'), options.value('p')) {
            (Some(format), _) => out.line(fill(format, name, &metadata)),
            (_, Some(format)) => {
                let filled = fill(format, name, &metadata);
                out.put(crate::expand::escapes(&filled, crate::expand::Escapes::Ansi).0);
            }
            _ => {
                let kind = kind(&metadata);
                let time = super::date::precise(modified(&metadata));
                out.line(format!("  File: {name}\n  Size: {:<15}\t{kind}\nModify: {time}", metadata.len()));
            }
        }
        out.check().await?;
    }
    out.flush().await?;
    Ok(status)
}

fn modified(metadata: &Metadata) -> std::time::Duration {
    metadata.modified().map(since_epoch).unwrap_or_default()
}

fn kind(metadata: &Metadata) -> &'static str {
    if metadata.is_dir() {
        "directory"
    } else if metadata.is_symlink() {
        "symbolic link"
    } else if metadata.len() == 0 {
        "regular empty file"
    } else {
        "regular file"
    }
}

fn fill(format: &str, name: &str, metadata: &Metadata) -> String {
    let mut filled = String::new();
    let mut rest = format.chars();
    while let Some(letter) = rest.next() {
        if letter != '%' {
            filled.push(letter);
            continue;
        }
        match rest.next() {
            Some('n') => filled.push_str(name),
            Some('N') => filled.push_str(&format!("'{name}'")),
            Some('s') => filled.push_str(&metadata.len().to_string()),
            Some('F') => filled.push_str(kind(metadata)),
            Some('b') => filled.push_str(&(occupied(metadata.len(), metadata.is_dir()) * 2).to_string()),
            Some('B') => filled.push_str("512"),
            Some('Y' | 'Z') => filled.push_str(&modified(metadata).as_secs().to_string()),
            Some('X') => filled
                .push_str(&metadata.accessed().map(since_epoch).unwrap_or_default().as_secs().to_string()),
            Some('y' | 'z') => filled.push_str(&super::date::precise(modified(metadata))),
            // Files here have no mode and no owner; these are what a new one would have.
            Some('a') => filled.push_str(if metadata.is_dir() { "755" } else { "644" }),
            Some('A') => filled.push_str(if metadata.is_dir() { "drwxr-xr-x" } else { "-rw-r--r--" }),
            Some('U' | 'G') => filled.push_str("user"),
            Some('u' | 'g') => filled.push_str("1000"),
            Some('h') => filled.push('1'),
            Some('%') => filled.push('%'),
            Some(other) => filled.push_str(&format!("?{other}")),
            None => filled.push('%'),
        }
    }
    filled
}

const DU: Spelling = Spelling::new(
    "abcd:hkms1:SxA0",
    &[
        ("all", 'a'),
        ("bytes", 'b'),
        ("total", 'c'),
        ("max-depth", 'd'),
        ("human-readable", 'h'),
        ("summarize", 's'),
        ("apparent-size", 'A'),
        ("exclude", '1'),
    ],
);

struct Usage<'a> {
    shell: &'a Shell,
    out: Out,
    bytes: bool,
    apparent: bool,
    human: bool,
    unit: u64,
    all: bool,
    depth: usize,
    exclude: Vec<crate::expand::pattern::Pattern>,
}

pub async fn du(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = DU.read(arguments)?;
    let depth = match options.value('d') {
        Some(text) => match text.parse() {
            Ok(depth) => depth,
            Err(_) => return fail(format!("invalid maximum depth ‘{text}’")),
        },
        None if options.has('s') => 0,
        None => usize::MAX,
    };
    let bytes = options.has('b');
    let mut usage = Usage {
        shell,
        out: shell.out(),
        bytes,
        apparent: bytes || options.has('A'),
        human: options.has('h'),
        unit: if bytes {
            1
        } else if options.has('m') {
            1 << 20
        } else {
            1024
        },
        all: options.has('a'),
        depth,
        exclude: options.values('1').map(crate::expand::pattern::Pattern::new).collect(),
    };
    let names = if options.operands.is_empty() { vec![".".to_owned()] } else { options.operands.clone() };
    let (mut status, mut total) = (0, 0);
    for name in &names {
        let path = shell.path(name);
        if !files::is_there(&path) {
            shell.warn(format!("du: cannot access '{name}': No such file or directory")).await?;
            status = 1;
            continue;
        }
        total += usage.measure(name, 0)?;
        usage.out.check().await?;
    }
    if options.has('c') {
        usage.show(total, "total");
    }
    usage.out.flush().await?;
    Ok(status)
}

impl Usage<'_> {
    fn show(&mut self, bytes: u64, name: &str) {
        let size =
            if self.human && !self.bytes { human(bytes) } else { bytes.div_ceil(self.unit).to_string() };
        self.out.line(format!("{size}\t{name}"));
    }

    fn measure(&mut self, name: &str, depth: usize) -> Result<u64, Stop> {
        crate::task::tick()?;
        let Ok(metadata) = std::fs::symlink_metadata(self.shell.path(name)) else { return Ok(0) };
        let own = match (self.apparent, metadata.is_dir()) {
            (true, true) => 4096,
            (true, false) => metadata.len(),
            (false, is_dir) => occupied(metadata.len(), is_dir) * 1024,
        };
        let mut sum = own;
        if metadata.is_dir() {
            if depth > 64 {
                return Ok(sum);
            }
            for entry in files::list(self.shell, name).unwrap_or_default() {
                if !self.exclude.iter().any(|pattern| pattern.matches(&entry.name)) {
                    sum +=
                        self.measure(&format!("{}/{}", name.trim_end_matches('/'), entry.name), depth + 1)?;
                }
            }
        }
        if depth <= self.depth && (depth == 0 || metadata.is_dir() || self.all) {
            self.show(sum, name);
        }
        Ok(sum)
    }
}
