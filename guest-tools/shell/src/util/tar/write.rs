//! Making an archive.

use super::BLOCK;
use crate::expand::pattern::Pattern;
use crate::files;
use crate::shell::Shell;
use crate::stop::{Status, Stop, words, wrong};
use crate::util::gzip::compress;
use crate::util::input;
use crate::util::options::Options;
use std::fs;

struct Writer<'a> {
    shell: &'a Shell,
    bytes: Vec<u8>,
    exclude: Vec<Pattern>,
    said: Vec<String>,
    failures: Vec<String>,
}

pub async fn create(shell: &Shell, inner: &Shell, options: &Options, archive: &str) -> Status {
    let mut names = options.operands.clone();
    for list in options.values('T') {
        let text = input::whole(shell, list).await?;
        names.extend(input::lines(&text).map(|line| String::from_utf8_lossy(line).into_owned()));
    }
    if names.is_empty() {
        return wrong(
            2,
            "Cowardly refusing to create an empty archive\nTry 'tar --help' or 'tar --usage' for more information.",
        );
    }
    let bytes = if options.has('r') && files::exists(&shell.path(archive)) {
        without_end(input::whole(shell, archive).await?)
    } else {
        Vec::new()
    };
    let exclude = options.values('1').map(|pattern| Pattern::new(pattern.trim_end_matches('/'))).collect();
    let mut writer = Writer { shell: inner, bytes, exclude, said: Vec::new(), failures: Vec::new() };
    for name in &names {
        writer.add(name, 0)?;
    }
    let Writer { mut bytes, said, failures, .. } = writer;
    bytes.resize(bytes.len() + 2 * BLOCK, 0);
    // Whole records of twenty blocks.
    bytes.resize(bytes.len().div_ceil(20 * BLOCK) * 20 * BLOCK, 0);
    if options.has('z') || (options.has('3') && (archive.ends_with("gz"))) {
        bytes = compress(&bytes, 6)?;
    }
    let to_stdout = archive == "-";
    if options.has('v') {
        let lines: String = said.iter().map(|name| format!("{name}\n")).collect();
        let stream = if to_stdout { shell.stderr() } else { shell.stdout() };
        stream.write(lines.as_bytes()).await?;
    }
    for failure in &failures {
        shell.warn(format!("tar: {failure}")).await?;
    }
    if to_stdout {
        shell.stdout().write(&bytes).await?;
    } else {
        match files::write(shell, archive) {
            Ok(handle) => handle.write(&bytes).await?,
            Err(error) => {
                return wrong(
                    2,
                    format!(
                        "{archive}: Cannot open: {}\ntar: Error is not recoverable: exiting now",
                        words(&error)
                    ),
                );
            }
        }
    }
    if !failures.is_empty() {
        return wrong(2, "Exiting with failure status due to previous errors");
    }
    Ok(0)
}

fn without_end(mut bytes: Vec<u8>) -> Vec<u8> {
    while bytes.len() >= BLOCK
        && bytes.get(bytes.len() - BLOCK..).is_some_and(|block| block.iter().all(|byte| *byte == 0))
    {
        bytes.truncate(bytes.len() - BLOCK);
    }
    bytes
}

impl Writer<'_> {
    fn add(&mut self, name: &str, depth: u32) -> Result<(), Stop> {
        crate::task::tick()?;
        let trimmed = if name == "/" { name } else { name.trim_end_matches('/') };
        let base = trimmed.rsplit('/').next().unwrap_or(trimmed);
        if depth > 64 || self.exclude.iter().any(|pattern| pattern.matches(base) || pattern.matches(trimmed))
        {
            return Ok(());
        }
        let path = self.shell.path(trimmed);
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) => {
                self.failures.push(format!("{name}: Cannot stat: {}", words(&error)));
                return Ok(());
            }
        };
        let stored = trimmed.trim_start_matches('/');
        let time = metadata.modified().map(crate::clock::since_epoch).unwrap_or_default().as_secs();
        if metadata.is_dir() {
            self.header(&format!("{stored}/"), b'5', "", 0, time);
            self.said.push(format!("{trimmed}/"));
            for entry in files::list(self.shell, trimmed).unwrap_or_default() {
                self.add(&format!("{trimmed}/{}", entry.name), depth + 1)?;
            }
            return Ok(());
        }
        if metadata.is_symlink() {
            let target =
                fs::read_link(&path).map(|target| target.to_string_lossy().into_owned()).unwrap_or_default();
            self.header(stored, b'2', &target, 0, time);
            self.said.push(trimmed.to_owned());
            return Ok(());
        }
        match fs::read(&path) {
            Ok(content) => {
                self.header(stored, b'0', "", content.len(), time);
                self.bytes.extend_from_slice(&content);
                self.bytes.resize(self.bytes.len().div_ceil(BLOCK) * BLOCK, 0);
                self.said.push(trimmed.to_owned());
            }
            Err(error) => self.failures.push(format!("{name}: Cannot open: {}", words(&error))),
        }
        Ok(())
    }

    fn header(&mut self, name: &str, kind: u8, link: &str, size: usize, time: u64) {
        for (text, long) in [(name, b'L'), (link, b'K')] {
            if text.len() > 100 {
                let mut content = text.as_bytes().to_vec();
                content.push(0);
                self.block("././@LongLink", long, "", content.len(), 0);
                content.resize(content.len().div_ceil(BLOCK) * BLOCK, 0);
                self.bytes.extend(content);
            }
        }
        self.block(name, kind, link, size, time);
    }

    fn block(&mut self, name: &str, kind: u8, link: &str, size: usize, time: u64) {
        let mut block = [0; BLOCK];
        let mut put = |at: usize, text: &[u8], most: usize| {
            for (place, byte) in block.iter_mut().skip(at).zip(text.iter().take(most)) {
                *place = *byte;
            }
        };
        put(0, name.as_bytes(), 100);
        put(100, if kind == b'5' { b"0000755" } else { b"0000644" }, 7);
        put(108, b"0001750", 7);
        put(116, b"0001750", 7);
        put(124, format!("{size:011o}").as_bytes(), 11);
        put(136, format!("{time:011o}").as_bytes(), 11);
        put(148, b"        ", 8);
        put(156, &[kind], 1);
        put(157, link.as_bytes(), 100);
        put(257, b"ustar  ", 7);
        put(265, b"user", 4);
        put(297, b"user", 4);
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        for (place, byte) in block.iter_mut().skip(148).zip(format!("{sum:06o}\0 ").bytes()) {
            *place = byte;
        }
        self.bytes.extend_from_slice(&block);
    }
}
