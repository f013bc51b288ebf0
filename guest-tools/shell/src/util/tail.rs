//! `tail`

use std::collections::VecDeque;

use super::input;
use super::options::{Spelling, size};
use crate::shell::Shell;
use crate::stop::{Status, Stop, fail};
use crate::stream::{Handle, Out};

const SPELLING: Spelling = Spelling::new(
    "c:n:qvfFs:#",
    &[("bytes", 'c'), ("lines", 'n'), ("quiet", 'q'), ("verbose", 'v'), ("follow", 'f')],
);

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    // `tail +5` of old.
    let fixed: Vec<String> = arguments
        .iter()
        .enumerate()
        .map(|(index, text)| {
            if index == 0 && text.starts_with('+') && size(text.trim_start_matches('+')).is_some() {
                format!("-n{text}")
            } else {
                text.clone()
            }
        })
        .collect();
    let options = SPELLING.read(&fixed)?;
    if options.has('f') || options.has('F') {
        return fail("following a file would never end here; read it again instead");
    }
    let bytes = options.value('c');
    let text = bytes.or(options.value('n')).or(options.value('#')).unwrap_or("10");
    let from = text.starts_with('+');
    let Some(count) = size(text.trim_start_matches(['+', '-'])) else {
        return fail(format!(
            "invalid number of {}: ‘{text}’",
            if bytes.is_some() { "bytes" } else { "lines" }
        ));
    };
    let names = options.inputs();
    let titles = (names.len() > 1 || options.has('v')) && !options.has('q');
    let (mut out, mut status, mut first) = (shell.out(), 0, true);
    for name in &names {
        if name != "-" && !crate::files::exists(&shell.path(name)) && !crate::files::is_device(name) {
            shell.warn(format!("tail: cannot open '{name}' for reading: No such file or directory")).await?;
            status = 1;
            continue;
        }
        let Some(handle) = input::open(shell, "tail", name).await? else {
            status = 1;
            continue;
        };
        if titles {
            let shown = if name == "-" { "standard input" } else { name };
            out.put(format!("{}==> {shown} <==\n", if first { "" } else { "\n" }));
        }
        first = false;
        match (from, bytes.is_some()) {
            (true, _) => rest(&handle, &mut out, count, bytes.is_some()).await?,
            (false, false) => last_lines(&handle, &mut out, count).await?,
            (false, true) => last_bytes(&handle, &mut out, count).await?,
        }
    }
    out.flush().await?;
    Ok(status)
}

async fn rest(handle: &Handle, out: &mut Out, count: u64, bytes: bool) -> Result<(), Stop> {
    let mut skip = count.saturating_sub(1);
    let mut line = Vec::new();
    while skip > 0 && handle.fill().await? {
        if bytes {
            let most = usize::try_from(skip).unwrap_or(usize::MAX);
            let taken = handle.with(|bytes| (bytes.len().min(most), bytes.len().min(most)));
            skip -= u64::try_from(taken).unwrap_or(skip).min(skip);
        } else {
            line.clear();
            handle.until(b'\n', &mut line).await?;
            skip -= 1;
        }
    }
    loop {
        let chunk = handle.chunk().await?;
        if chunk.is_empty() {
            return Ok(());
        }
        out.put(chunk);
        out.check().await?;
    }
}

async fn last_lines(handle: &Handle, out: &mut Out, count: u64) -> Result<(), Stop> {
    let most = usize::try_from(count).unwrap_or(usize::MAX);
    let mut kept: VecDeque<Vec<u8>> = VecDeque::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        if !handle.until(b'\n', &mut line).await? {
            break;
        }
        kept.push_back(std::mem::take(&mut line));
        if kept.len() > most {
            line = kept.pop_front().unwrap_or_default();
        }
    }
    for line in kept {
        out.put(line);
        out.check().await?;
    }
    Ok(())
}

async fn last_bytes(handle: &Handle, out: &mut Out, count: u64) -> Result<(), Stop> {
    let most = usize::try_from(count).unwrap_or(usize::MAX);
    let mut kept = Vec::new();
    loop {
        let chunk = handle.chunk().await?;
        if chunk.is_empty() {
            break;
        }
        kept.extend(chunk);
        if kept.len() > most.saturating_mul(2).max(1 << 16) {
            kept.drain(..kept.len() - most);
        }
    }
    out.put(kept.get(kept.len().saturating_sub(most)..).unwrap_or_default());
    Ok(())
}
