//! Lines below each other and in another order: `column` and `shuf`.

use super::input;
use super::options::Spelling;
use crate::shell::Shell;
use crate::stop::{Status, fail};

const COLUMN: Spelling =
    Spelling::new("ts:o:", &[("table", 't'), ("separator", 's'), ("output-separator", 'o')]);

pub async fn column(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = COLUMN.read(arguments)?;
    if !options.has('t') {
        return fail("only tables are known here: column -t");
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    for name in options.inputs() {
        let text = input::whole(shell, &name).await?;
        let text = String::from_utf8_lossy(&text);
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            rows.push(match options.value('s') {
                Some(signs) => line.split(|letter| signs.contains(letter)).map(str::to_owned).collect(),
                None => line.split_whitespace().map(str::to_owned).collect(),
            });
        }
    }
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |index: usize| {
        rows.iter().filter_map(|row| row.get(index)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let between = options.value('o').unwrap_or("  ");
    let mut out = shell.out();
    for row in &rows {
        for (index, (cell, width)) in row.iter().zip(&widths).enumerate() {
            // Nothing stands behind the last column of the table.
            if index + 1 < count {
                out.put(format!("{cell:<width$}{between}"));
            } else {
                out.put(cell);
            }
        }
        out.put("\n");
        out.check().await?;
    }
    out.flush().await?;
    Ok(0)
}

const SHUF: Spelling =
    Spelling::new("n:ei:r", &[("head-count", 'n'), ("echo", 'e'), ("input-range", 'i'), ("repeat", 'r')]);

/// Numbers that a range may have; they are all in memory.
const MOST: u64 = 1 << 20;

pub async fn shuf(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = SHUF.read(arguments)?;
    let count = match options.value('n').map(str::parse::<usize>) {
        None => None,
        Some(Ok(count)) => Some(count),
        Some(Err(_)) => {
            return fail(format!("invalid line count: ‘{}’", options.value('n').unwrap_or_default()));
        }
    };
    let mut items: Vec<Vec<u8>> = if let Some(range) = options.value('i') {
        let ends = range.split_once('-').and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
        let Some((from, to)) = ends.filter(|(from, to): &(u64, u64)| from <= to && to - from < MOST) else {
            return fail(format!("invalid input range: ‘{range}’"));
        };
        (from..=to).map(|number| number.to_string().into_bytes()).collect()
    } else if options.has('e') {
        options.operands.iter().map(|operand| operand.clone().into_bytes()).collect()
    } else {
        let name = options.operands.first().map_or("-", String::as_str);
        let text = input::whole(shell, name).await?;
        input::lines(&text).map(<[u8]>::to_vec).collect()
    };
    let mut out = shell.out();
    let mut left = count.unwrap_or(if options.has('r') { usize::MAX } else { items.len() });
    while left > 0 && !items.is_empty() {
        let length = u64::try_from(items.len()).unwrap_or(1);
        let index = usize::try_from(crate::clock::chance() % length).unwrap_or(0);
        if options.has('r') {
            out.line(items.get(index).map_or(&[][..], Vec::as_slice));
        } else {
            out.line(items.swap_remove(index));
        }
        out.check().await?;
        left -= 1;
    }
    out.flush().await?;
    Ok(0)
}
