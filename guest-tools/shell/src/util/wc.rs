//! `wc`

use super::input;
use super::options::Spelling;
use crate::shell::Shell;
use crate::stop::{Status, Stop};
use crate::stream::Handle;

const SPELLING: Spelling = Spelling::new(
    "clmwL",
    &[("bytes", 'c'), ("chars", 'm'), ("lines", 'l'), ("words", 'w'), ("max-line-length", 'L')],
);

#[derive(Default, Clone, Copy)]
struct Counts {
    lines: usize,
    words: usize,
    letters: usize,
    bytes: usize,
    longest: usize,
}

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = SPELLING.read(arguments)?;
    let named = !options.operands.is_empty();
    let names = options.inputs();
    let (mut rows, mut total, mut status) = (Vec::new(), Counts::default(), 0);
    for name in &names {
        if name != "-" && crate::files::is_dir(&shell.path(name)) {
            shell.warn(format!("wc: {name}: Is a directory")).await?;
            status = 1;
            rows.push((Counts::default(), name.clone()));
            continue;
        }
        let Some(handle) = input::open(shell, "wc", name).await? else {
            status = 1;
            continue;
        };
        let counts = count(&handle).await?;
        total = Counts {
            lines: total.lines + counts.lines,
            words: total.words + counts.words,
            letters: total.letters + counts.letters,
            bytes: total.bytes + counts.bytes,
            longest: total.longest.max(counts.longest),
        };
        rows.push((counts, if named { name.clone() } else { String::new() }));
    }
    if names.len() > 1 {
        rows.push((total, "total".to_owned()));
    }
    let all = !"clmwL".chars().any(|letter| options.has(letter));
    let columns = |counts: &Counts| {
        let columns = [
            (all || options.has('l'), counts.lines),
            (all || options.has('w'), counts.words),
            (options.has('m'), counts.letters),
            (all || options.has('c'), counts.bytes),
            (options.has('L'), counts.longest),
        ];
        columns.into_iter().filter(|(shown, _)| *shown).map(|(_, count)| count).collect::<Vec<_>>()
    };
    // As wide as the size of all files needs it; what has no size is given room.
    let single = names.len() == 1 && columns(&total).len() == 1;
    let regular = names.iter().all(|name| name != "-");
    let width = if single {
        1
    } else if regular {
        total.bytes.to_string().len()
    } else {
        7
    };
    let mut out = shell.out();
    for (counts, name) in &rows {
        let line: Vec<String> = columns(counts).iter().map(|count| format!("{count:width$}")).collect();
        out.put(line.join(" "));
        out.line(if name.is_empty() { String::new() } else { format!(" {name}") });
    }
    out.flush().await?;
    Ok(status)
}

async fn count(handle: &Handle) -> Result<Counts, Stop> {
    let mut counts = Counts::default();
    let (mut in_word, mut length) = (false, 0);
    loop {
        let chunk = handle.chunk().await?;
        if chunk.is_empty() {
            break;
        }
        counts.bytes += chunk.len();
        for byte in &chunk {
            // The bytes of a letter behind its first are none of their own.
            let letter = byte & 0xC0 != 0x80;
            counts.letters += usize::from(letter);
            if *byte == b'\n' {
                counts.lines += 1;
                counts.longest = counts.longest.max(length);
                length = 0;
            } else if *byte == b'\t' {
                length += 8 - length % 8;
            } else {
                length += usize::from(letter);
            }
            let blank = byte.is_ascii_whitespace() || *byte == 11;
            counts.words += usize::from(!blank && !in_word);
            in_word = !blank;
        }
    }
    counts.longest = counts.longest.max(length);
    Ok(counts)
}
