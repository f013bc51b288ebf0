//! What is different between two lists of lines.

use crate::stop::Stop;
use std::collections::HashMap;

/// Lines of the left that are replaced by lines of the right.
pub struct Hunk {
    pub left: std::ops::Range<usize>,
    pub right: std::ops::Range<usize>,
}

/// Differences by Myers' algorithm, which finds the fewest; gives up with one big difference where there are too many.
pub fn compare(left: &[Vec<u8>], right: &[Vec<u8>]) -> Result<Vec<Hunk>, Stop> {
    // Numbers are compared faster than lines.
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    let mut ids = Vec::new();
    for line in left.iter().chain(right) {
        let next = known.len();
        ids.push(*known.entry(line.as_slice()).or_insert(next));
    }
    let (one, other) = ids.split_at(left.len());
    let start = one.iter().zip(other).take_while(|(left, right)| left == right).count();
    let rest = one.len().min(other.len()) - start;
    let end =
        one.iter().rev().zip(other.iter().rev()).take(rest).take_while(|(left, right)| left == right).count();
    let inner = one.get(start..one.len() - end).unwrap_or_default();
    let other_inner = other.get(start..other.len() - end).unwrap_or_default();
    let mut hunks: Vec<Hunk> = Vec::new();
    for (at, other_at, removed, added) in edits(inner, other_inner)? {
        let (at, other_at) = (at + start, other_at + start);
        match hunks.last_mut().filter(|last| last.left.end == at && last.right.end == other_at) {
            Some(last) => {
                last.left.end += removed;
                last.right.end += added;
            }
            None => hunks.push(Hunk { left: at..at + removed, right: other_at..other_at + added }),
        }
    }
    Ok(hunks)
}

/// More steps would take more memory than a cell has.
const MOST_EDITS: usize = 2000;

/// Single removals and additions: place in the left, in the right, lines removed, lines added.
fn edits(left: &[usize], right: &[usize]) -> Result<Vec<(usize, usize, usize, usize)>, Stop> {
    let signed = |number: usize| isize::try_from(number).unwrap_or(isize::MAX);
    let (width, height) = (signed(left.len()), signed(right.len()));
    let most = (left.len() + right.len()).min(MOST_EDITS);
    let offset = signed(most) + 1;
    let slot = |diagonal: isize| usize::try_from(diagonal + offset).unwrap_or(0);
    let mut furthest = vec![0_isize; 2 * most + 3];
    let mut trace = Vec::new();
    for steps in 0..=signed(most) {
        crate::task::tick()?;
        trace.push(furthest.clone());
        let mut diagonal = -steps;
        while diagonal <= steps {
            let value = |diagonal: isize| furthest.get(slot(diagonal)).copied().unwrap_or(0);
            let down = diagonal == -steps || (diagonal != steps && value(diagonal - 1) < value(diagonal + 1));
            let mut x = if down { value(diagonal + 1) } else { value(diagonal - 1) + 1 };
            let mut y = x - diagonal;
            while x < width
                && y < height
                && y >= 0
                && left.get(usize::try_from(x).unwrap_or(0)) == right.get(usize::try_from(y).unwrap_or(0))
            {
                x += 1;
                y += 1;
            }
            if let Some(place) = furthest.get_mut(slot(diagonal)) {
                *place = x;
            }
            if x >= width && y >= height {
                return Ok(path(&trace, (width, height), offset));
            }
            diagonal += 2;
        }
    }
    Ok(vec![(0, 0, left.len(), right.len())])
}

/// Back from the end along the furthest places.
fn path(
    trace: &[Vec<isize>],
    (width, height): (isize, isize),
    offset: isize,
) -> Vec<(usize, usize, usize, usize)> {
    let (mut x, mut y) = (width, height);
    let mut edits = Vec::new();
    for (steps, furthest) in trace.iter().enumerate().rev() {
        let steps = isize::try_from(steps).unwrap_or(0);
        let value = |diagonal: isize| {
            usize::try_from(diagonal + offset)
                .ok()
                .and_then(|index| furthest.get(index))
                .copied()
                .unwrap_or(0)
        };
        let diagonal = x - y;
        let down = diagonal == -steps || (diagonal != steps && value(diagonal - 1) < value(diagonal + 1));
        let before = if down { diagonal + 1 } else { diagonal - 1 };
        let (old_x, old_y) = (value(before), value(before) - before);
        if steps > 0 {
            let unsigned = |number: isize| usize::try_from(number).unwrap_or(0);
            edits.push(if down {
                (unsigned(old_x), unsigned(old_y), 0, 1)
            } else {
                (unsigned(old_x), unsigned(old_y), 1, 0)
            });
        }
        (x, y) = (old_x, old_y);
    }
    edits.reverse();
    edits
}
