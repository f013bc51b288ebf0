//! `head`

use super::input;
use super::options::{Spelling, size};
use crate::shell::Shell;
use crate::stop::{Status, Stop, fail};
use crate::stream::{Handle, Out};

const SPELLING: Spelling = Spelling::new(
    "c:n:qvz#",
    &[("bytes", 'c'), ("lines", 'n'), ("quiet", 'q'), ("silent", 'q'), ("verbose", 'v')],
);

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = SPELLING.read(arguments)?;
    let bytes = options.value('c');
    let text = bytes.or(options.value('n')).or(options.value('#')).unwrap_or("10");
    let (text, but_last) =
        text.strip_prefix('-').map_or((text.trim_start_matches('+'), false), |rest| (rest, true));
    let Some(count) = size(text) else {
        return fail(format!(
            "invalid number of {}: ‘{text}’",
            if bytes.is_some() { "bytes" } else { "lines" }
        ));
    };
    let names = options.inputs();
    let titles = (names.len() > 1 || options.has('v')) && !options.has('q');
    let (mut out, mut status, mut first) = (shell.out(), 0, true);
    for name in &names {
        if name != "-" && crate::files::is_dir(&shell.path(name)) {
            shell.warn(format!("head: error reading '{name}': Is a directory")).await?;
            status = 1;
            continue;
        }
        let Some(handle) = open(shell, name).await? else {
            status = 1;
            continue;
        };
        if titles {
            let shown = if name == "-" { "standard input" } else { name };
            out.put(format!("{}==> {shown} <==\n", if first { "" } else { "\n" }));
        }
        first = false;
        match (bytes.is_some(), but_last) {
            (false, false) => lines(&handle, &mut out, count).await?,
            (true, false) => some(&handle, &mut out, count).await?,
            (_, true) => all_but(&handle, &mut out, count, bytes.is_some()).await?,
        }
    }
    out.flush().await?;
    Ok(status)
}

async fn open(shell: &Shell, name: &str) -> Result<Option<Handle>, Stop> {
    if name != "-" && !crate::files::exists(&shell.path(name)) && !crate::files::is_device(name) {
        shell.warn(format!("head: cannot open '{name}' for reading: No such file or directory")).await?;
        return Ok(None);
    }
    input::open(shell, "head", name).await
}

async fn lines(handle: &Handle, out: &mut Out, count: u64) -> Result<(), Stop> {
    let mut line = Vec::new();
    for _ in 0..count {
        line.clear();
        if !handle.until(b'\n', &mut line).await? {
            break;
        }
        out.put(&line);
        out.check().await?;
    }
    Ok(())
}

async fn some(handle: &Handle, out: &mut Out, count: u64) -> Result<(), Stop> {
    let mut left = count;
    while left > 0 && handle.fill().await? {
        let most = usize::try_from(left).unwrap_or(usize::MAX);
        let taken = handle.with(|bytes| {
            let part = bytes.get(..most.min(bytes.len())).unwrap_or_default();
            out.put(part);
            (part.len(), part.len())
        });
        left -= u64::try_from(taken).unwrap_or(left).min(left);
        out.check().await?;
    }
    Ok(())
}

async fn all_but(handle: &Handle, out: &mut Out, count: u64, bytes: bool) -> Result<(), Stop> {
    let content = handle.rest().await?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if bytes {
        out.put(content.get(..content.len().saturating_sub(count)).unwrap_or_default());
        return Ok(());
    }
    let lines: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
    for line in lines.iter().take(lines.len().saturating_sub(count)) {
        out.put(line);
    }
    Ok(())
}
