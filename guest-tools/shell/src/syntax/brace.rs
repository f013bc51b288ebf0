//! `{a,b}` and `{1..9}`: one word becomes several, before anything else is expanded.

use super::{Part, Word};

/// What one word may become; more would not fit the memory of a call.
const MOST: usize = 500_000;

/// The words that the braces of `word` stand for.
///
/// # Errors
/// When there are too many.
pub fn expand(word: Word) -> Result<Vec<Word>, String> {
    if !word.iter().any(|part| matches!(part, Part::Plain(text) if text.contains('{'))) {
        return Ok(vec![word]);
    }
    let words = expand_atoms(&atoms(word), 0);
    if words.len() > MOST {
        return Err(format!("brace expansion: more than {MOST} words"));
    }
    Ok(words.into_iter().map(join).collect())
}

/// Braces within each other; deeper ones mean themselves.
const DEEPEST: u32 = 20;

/// Either a plain character or another part.
#[derive(Clone)]
enum Atom {
    Letter(char),
    Part(Part),
}

fn atoms(word: Word) -> Vec<Atom> {
    let mut atoms = Vec::new();
    for part in word {
        match part {
            Part::Plain(text) => atoms.extend(text.chars().map(Atom::Letter)),
            part => atoms.push(Atom::Part(part)),
        }
    }
    atoms
}

fn join(atoms: Vec<Atom>) -> Word {
    let mut word = Word::new();
    for atom in atoms {
        match (atom, word.last_mut()) {
            (Atom::Letter(letter), Some(Part::Plain(text))) => text.push(letter),
            (Atom::Letter(letter), _) => word.push(Part::Plain(letter.to_string())),
            (Atom::Part(part), _) => word.push(part),
        }
    }
    word
}

fn letter(atom: &Atom) -> Option<char> {
    match atom {
        Atom::Letter(letter) => Some(*letter),
        Atom::Part(_) => None,
    }
}

fn expand_atoms(atoms: &[Atom], depth: u32) -> Vec<Vec<Atom>> {
    if depth > DEEPEST {
        return vec![atoms.to_vec()];
    }
    for open in (0..atoms.len()).filter(|index| atoms.get(*index).and_then(letter) == Some('{')) {
        let Some((alternatives, close)) = alternatives(atoms, open, depth) else { continue };
        let before = atoms.get(..open).unwrap_or_default();
        let after = expand_atoms(atoms.get(close + 1..).unwrap_or_default(), depth + 1);
        let mut words = Vec::new();
        for alternative in alternatives {
            for rest in &after {
                if words.len() > MOST {
                    return words;
                }
                words.push([before, &alternative, rest].concat());
            }
        }
        return words;
    }
    vec![atoms.to_vec()]
}

/// The alternatives of the brace at `open`, and where it closes; none if it is no such brace.
fn alternatives(atoms: &[Atom], open: usize, depth: u32) -> Option<(Vec<Vec<Atom>>, usize)> {
    let mut inner = 0_usize;
    let mut commas = vec![open];
    for index in open + 1..atoms.len() {
        match atoms.get(index).and_then(letter) {
            Some('{') => inner += 1,
            Some('}') if inner > 0 => inner -= 1,
            Some('}') => {
                commas.push(index);
                let pieces = commas.windows(2).map(|pair| match pair {
                    [from, to] => atoms.get(from + 1..*to).unwrap_or_default(),
                    _ => &[],
                });
                if commas.len() > 2 {
                    return Some((pieces.flat_map(|piece| expand_atoms(piece, depth + 1)).collect(), index));
                }
                let text: Option<String> = atoms.get(open + 1..index)?.iter().map(letter).collect();
                let range = range(&text?)?;
                return Some((
                    range.into_iter().map(|text| text.chars().map(Atom::Letter).collect()).collect(),
                    index,
                ));
            }
            Some(',') if inner == 0 => commas.push(index),
            _ => {}
        }
    }
    None
}

/// `1..9`, `a..e`, `01..10..2`
fn range(text: &str) -> Option<Vec<String>> {
    let mut ends = text.split("..");
    let (from, to, step) = (ends.next()?, ends.next()?, ends.next());
    if ends.next().is_some() {
        return None;
    }
    let step: i64 = step.map_or(Some(1), |step| step.parse().ok())?;
    let step = step.checked_abs()?.max(1);
    if let (Ok(first), Ok(last)) = (from.parse::<i64>(), to.parse::<i64>()) {
        let padded = [from, to]
            .iter()
            .any(|end| end.trim_start_matches('-').starts_with('0') && end.trim_start_matches('-').len() > 1);
        let width = if padded { from.len().max(to.len()) } else { 0 };
        return Some(steps(first, last, step).map(|number| format!("{number:0width$}")).collect());
    }
    let (mut first, mut last) = (from.chars(), to.chars());
    let (Some(one), None, Some(other), None) = (first.next(), first.next(), last.next(), last.next()) else {
        return None;
    };
    if !one.is_ascii_alphabetic() || !other.is_ascii_alphabetic() {
        return None;
    }
    let letters = steps(i64::from(u32::from(one)), i64::from(u32::from(other)), step);
    Some(letters.filter_map(|code| Some(char::from_u32(u32::try_from(code).ok()?)?.to_string())).collect())
}

fn steps(first: i64, last: i64, step: i64) -> impl Iterator<Item = i64> {
    let down = last < first;
    let count = last.abs_diff(first) / step.unsigned_abs();
    (0..=count).take(MOST + 1).map_while(move |index| {
        let offset = i64::try_from(index).ok()?.checked_mul(step)?;
        if down { first.checked_sub(offset) } else { first.checked_add(offset) }
    })
}
