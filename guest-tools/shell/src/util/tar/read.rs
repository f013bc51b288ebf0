//! Listing and unpacking an archive.

use super::BLOCK;
use crate::expand::pattern::Pattern;
use crate::files;
use crate::shell::Shell;
use crate::stop::{Status, Stop, words, wrong};
use crate::stream::Out;
use crate::util::gzip::decompress;
use crate::util::input;
use crate::util::options::Options;
use std::fs;

/// One file of an archive.
struct Member<'a> {
    name: String,
    kind: u8,
    link: String,
    time: u64,
    content: &'a [u8],
}

pub async fn read(shell: &Shell, inner: &Shell, options: &Options, archive: &str) -> Status {
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
    let time = crate::util::date::show("%Y-%m-%d %H:%M", i64::try_from(member.time).unwrap_or(0), 0, 0);
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
        b'2' => crate::util::change::symlink(&member.link, &path).map_err(cannot),
        b'1' => crate::util::copy::copy_file(&shell.path(&member.link), &path).map_err(cannot),
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
