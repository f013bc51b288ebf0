//! `tar`: archives in the format of POSIX with GNU's long names.

use std::fs;

use super::gzip::{compress, decompress};
use super::input;
use super::options::{Options, Spelling};
use crate::expand::pattern::Pattern;
use crate::files;
use crate::shell::Shell;
use crate::stop::{Status, Stop, words, wrong};
use crate::stream::Out;

const SPELLING: Spelling = Spelling::new(
    "cC:f:hjJkmOpPrtT:uvxz1:2:3",
    &[
        ("create", 'c'),
        ("extract", 'x'),
        ("get", 'x'),
        ("list", 't'),
        ("file", 'f'),
        ("gzip", 'z'),
        ("gunzip", 'z'),
        ("verbose", 'v'),
        ("directory", 'C'),
        ("exclude", '1'),
        ("strip-components", '2'),
        ("to-stdout", 'O'),
        ("keep-old-files", 'k'),
        ("append", 'r'),
        ("files-from", 'T'),
        ("absolute-names", 'P'),
        ("auto-compress", '3'),
        ("preserve-permissions", 'p'),
        ("no-same-owner", '3'),
    ],
)
.status(2);

const BLOCK: usize = 512;

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = SPELLING.read(&dashed(arguments))?;
    if options.has('j') || options.has('J') {
        return wrong(2, "of the ways to compress there is only gzip here (-z)");
    }
    let folder = options.value('C').map(str::to_owned);
    let mut inner = shell.child()?;
    if let Some(folder) = &folder {
        let path = shell.path(folder);
        if !files::is_dir(&path) {
            return wrong(
                2,
                format!(
                    "{folder}: Cannot open: No such file or directory\ntar: Error is not recoverable: exiting now"
                ),
            );
        }
        inner.cwd = path.to_string_lossy().into_owned();
    }
    let archive = options.value('f').unwrap_or("-").to_owned();
    if options.has('c') || options.has('r') {
        return create(shell, &inner, &options, &archive).await;
    }
    if options.has('x') || options.has('t') {
        return read(shell, &inner, &options, &archive).await;
    }
    wrong(2, "You must specify one of the '-Acdtrux', '--delete' or '--test-label' options")
}

/// `tar xzf a.tgz`: the first word is options even without a dash, and their values follow it.
fn dashed(arguments: &[String]) -> Vec<String> {
    let Some((first, rest)) = arguments.split_first().filter(|(first, _)| !first.starts_with('-')) else {
        return arguments.to_vec();
    };
    let mut rest = rest.iter();
    let mut all = Vec::new();
    for letter in first.chars() {
        all.push(format!("-{letter}"));
        if matches!(letter, 'f' | 'C' | 'T') {
            all.extend(rest.next().cloned());
        }
    }
    all.extend(rest.cloned());
    all
}

struct Writer<'a> {
    shell: &'a Shell,
    bytes: Vec<u8>,
    exclude: Vec<Pattern>,
    said: Vec<String>,
    failures: Vec<String>,
}

async fn create(shell: &Shell, inner: &Shell, options: &Options, archive: &str) -> Status {
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

/// One file of an archive.
struct Member<'a> {
    name: String,
    kind: u8,
    link: String,
    time: u64,
    content: &'a [u8],
}

async fn read(shell: &Shell, inner: &Shell, options: &Options, archive: &str) -> Status {
    let mut bytes = match input::whole(shell, archive).await {
        Err(Stop::Fail(_, message)) => {
            return wrong(
                2,
                format!(
                    "{}\ntar: Error is not recoverable: exiting now",
                    message.replacen(": ", ": Cannot open: ", 1)
                ),
            );
        }
        other => other?,
    };
    if bytes.starts_with(&[0x1f, 0x8b]) {
        bytes = decompress(&bytes).map_err(|message| Stop::Fail(2, format!("{archive}: {message}")))?;
    }
    let members = members(&bytes)?;
    let strip: usize = options.value('2').and_then(|text| text.parse().ok()).unwrap_or(0);
    let exclude: Vec<Pattern> = options.values('1').map(Pattern::new).collect();
    let mut found = vec![false; options.operands.len()];
    let (mut out, mut status) = (shell.out(), 0);
    for member in &members {
        crate::task::tick()?;
        let plain = member.name.trim_end_matches('/');
        let mut wanted = options.operands.is_empty();
        for (operand, found) in options.operands.iter().zip(&mut found) {
            let operand = operand.trim_end_matches('/');
            if plain == operand || plain.strip_prefix(operand).is_some_and(|rest| rest.starts_with('/')) {
                wanted = true;
                *found = true;
            }
        }
        let base = plain.rsplit('/').next().unwrap_or(plain);
        if !wanted || exclude.iter().any(|pattern| pattern.matches(plain) || pattern.matches(base)) {
            continue;
        }
        if options.has('t') {
            out.line(if options.has('v') { detail(member) } else { member.name.clone() });
            continue;
        }
        if options.has('v') {
            out.line(&member.name);
        }
        let target: Vec<&str> = member.name.split('/').skip(strip).collect();
        let target = target.join("/");
        if target.is_empty() {
            continue;
        }
        if let Err(message) = extract(inner, options, &mut out, member, &target) {
            shell.warn(format!("tar: {target}: {message}")).await?;
            status = 2;
        }
        out.check().await?;
    }
    out.flush().await?;
    for (operand, _) in options.operands.iter().zip(&found).filter(|(_, found)| !**found) {
        shell.warn(format!("tar: {operand}: Not found in archive")).await?;
        status = 2;
    }
    if status != 0 {
        return wrong(2, "Exiting with failure status due to previous errors");
    }
    Ok(0)
}

fn detail(member: &Member<'_>) -> String {
    let mode = match member.kind {
        b'5' => "drwxr-xr-x",
        b'2' => "lrwxrwxrwx",
        _ => "-rw-r--r--",
    };
    let time = super::date::show("%Y-%m-%d %H:%M", i64::try_from(member.time).unwrap_or(0), 0, 0);
    let link = if member.kind == b'2' { format!(" -> {}", member.link) } else { String::new() };
    format!("{mode} user/user {:>9} {time} {}{link}", member.content.len(), member.name)
}

fn extract(
    shell: &Shell,
    options: &Options,
    out: &mut Out,
    member: &Member<'_>,
    target: &str,
) -> Result<(), String> {
    // The names of an archive are a stranger's: none of them leads out of the folder.
    let clean = target.trim_start_matches('/');
    if clean.split('/').any(|part| part == "..") {
        return Err("Member name contains '..'".to_owned());
    }
    if options.has('O') {
        out.put(member.content);
        return Ok(());
    }
    let path = shell.path(clean);
    let cannot = |error: std::io::Error| format!("Cannot open: {}", words(&error));
    if member.kind == b'5' {
        return fs::create_dir_all(&path).map_err(cannot);
    }
    if let Some(parent) = path.parent().filter(|parent| !files::is_dir(parent)) {
        fs::create_dir_all(parent).map_err(cannot)?;
    }
    let there = fs::symlink_metadata(&path).ok();
    if there.is_some() && options.has('k') {
        return Err("Cannot open: File exists".to_owned());
    }
    if there.is_some_and(|metadata| !metadata.is_dir()) {
        fs::remove_file(&path).map_err(cannot)?;
    }
    match member.kind {
        b'2' => super::change::symlink(&member.link, &path).map_err(cannot),
        b'1' => super::copy::copy_file(&shell.path(&member.link), &path).map_err(cannot),
        b'0' | 0 => {
            fs::write(&path, member.content).map_err(cannot)?;
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(member.time.min(1 << 40));
            if let Ok(file) = fs::OpenOptions::new().append(true).open(&path) {
                // The time of a file matters less than the file.
                let _unchanged = file.set_times(fs::FileTimes::new().set_modified(time));
            }
            Ok(())
        }
        _ => Err("special files cannot be made here".to_owned()),
    }
}

fn members(bytes: &[u8]) -> Result<Vec<Member<'_>>, Stop> {
    let mut members = Vec::new();
    let (mut long_name, mut long_link) = (None, None);
    let mut at = 0;
    while let Some(block) = bytes.get(at..at + BLOCK) {
        if block.iter().all(|byte| *byte == 0) {
            break;
        }
        let text = |from: usize, length: usize| {
            let field = block.get(from..from + length).unwrap_or_default();
            let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
            String::from_utf8_lossy(field.get(..end).unwrap_or_default()).into_owned()
        };
        let number =
            |from: usize, length: usize| u64::from_str_radix(text(from, length).trim(), 8).unwrap_or(0);
        let sum: u64 = block
            .iter()
            .enumerate()
            .map(|(index, byte)| if (148..156).contains(&index) { 32 } else { u64::from(*byte) })
            .sum();
        if sum != number(148, 8) {
            return wrong(
                2,
                "This does not look like a tar archive\ntar: Exiting with failure status due to previous errors",
            );
        }
        let size = usize::try_from(number(124, 12)).unwrap_or(usize::MAX);
        let start = at + BLOCK;
        let Some(content) = start.checked_add(size).and_then(|end| bytes.get(start..end)) else {
            return wrong(2, "Unexpected EOF in archive\ntar: Error is not recoverable: exiting now");
        };
        at = start + size.div_ceil(BLOCK) * BLOCK;
        let kind = block.get(156).copied().unwrap_or(0);
        let whole = || String::from_utf8_lossy(content).trim_end_matches('\0').to_owned();
        match kind {
            b'L' => long_name = Some(whole()),
            b'K' => long_link = Some(whole()),
            b'x' => {
                for line in whole().lines() {
                    let Some((key, value)) = line.split_once(' ').and_then(|(_, pair)| pair.split_once('='))
                    else {
                        continue;
                    };
                    match key {
                        "path" => long_name = Some(value.to_owned()),
                        "linkpath" => long_link = Some(value.to_owned()),
                        _ => {}
                    }
                }
            }
            b'g' => {}
            _ => {
                let prefix =
                    if block.get(257..263) == Some(b"ustar\0") { text(345, 155) } else { String::new() };
                let name =
                    if prefix.is_empty() { text(0, 100) } else { format!("{prefix}/{}", text(0, 100)) };
                members.push(Member {
                    name: long_name.take().unwrap_or(name),
                    kind,
                    link: long_link.take().unwrap_or_else(|| text(157, 100)),
                    time: number(136, 12),
                    content,
                });
            }
        }
    }
    if members.is_empty() && at == 0 && !bytes.is_empty() && bytes.len() < BLOCK {
        return wrong(
            2,
            "This does not look like a tar archive\ntar: Exiting with failure status due to previous errors",
        );
    }
    Ok(members)
}
