//! The product of all: planted secrets, in every spelling, at every offset of a border, by every way in which one
//! cuts what a tool says: an end that is not kept, a beginning that is not, a text that is shortened, what is printed and
//! kept at both ends, pieces that are read after each other, and pieces and records that are shown before the next is there.

use std::sync::Arc;

use super::*;
use crate::output::HeadTail;

/// The spellings of a secret as they are found, each once.
fn found(redactor: &Redactor, secret: &str) -> Vec<String> {
    let forms = [encoders::common(secret), encoders::written(secret)].concat();
    let core = |spelled: &String| {
        let found = redactor.automaton.find(spelled.trim_matches('"')).unwrap();
        spelled.trim_matches('"')[found.range()].to_owned()
    };
    let mut all: Vec<String> = forms.iter().map(core).collect();
    all.sort();
    all.dedup();
    all
}

fn check_borders(secret: &str) -> usize {
    let redactor = Arc::new(redactor(&[("key", secret)]));
    let mut borders = 0;
    for spelled in found(&redactor, secret) {
        for (at, _) in spelled.char_indices().skip(1) {
            let halves = spelled.split_at(at);
            let context = format!("{spelled} at {at}");
            check_cuts(&redactor, halves, &context);
            check_printed(&redactor, halves, &context);
            check_pieces(&redactor, halves, &context);
            check_bytes(&redactor, &spelled, at, &context);
            borders += 1;
        }
    }
    borders
}

fn check_cuts(redactor: &Redactor, (start, end): (&str, &str), context: &str) {
    assert_eq!(redactor.cut_end(&format!("kept. {start}")), "kept. ", "{context}");
    assert_eq!(redactor.cut_start(&format!("{end} .kept")), " .kept", "{context}");
    assert_eq!(redactor.shortened(&format!("kept. {start}…")), "kept. …", "{context}");
    if start.len() > TOLERATED {
        let excerpts = redactor.excerpts(&format!("got \"{start}…\" at /{start}…: {start}…"));
        assert_eq!(excerpts, "got \"…\" at /…: …", "{context}");
    }
}

fn check_printed(redactor: &Redactor, (start, end): (&str, &str), context: &str) {
    let kept = 2 * (start.len() + end.len());
    let mut printed = HeadTail::new(kept);
    let before = "#".repeat(kept / 2 - start.len());
    let after = "#".repeat(kept / 2 - end.len());
    printed.write(format!("{before}{start}{end}{}{start}{end}{after}", "~".repeat(kept)).as_bytes());
    let shown = printed.render_redacted(Some(redactor));
    let shown: Vec<&str> = shown.lines().collect();
    assert_eq!((shown[0], shown[2]), (before.as_str(), after.as_str()), "{context}: {shown:?}");
}

fn check_pieces(redactor: &Arc<Redactor>, (start, end): (&str, &str), context: &str) {
    let (mut first, mut second) = (format!("a {start}"), format!("{end} b"));
    redactor.pieces(&mut [&mut first, &mut second]);
    assert_eq!((first.as_str(), second.as_str()), ("a [redacted:key]", " b"), "{context}");

    let mut stream = RedactingStream::new(Arc::clone(redactor));
    let mut shown = stream.piece(&format!("a {start}"));
    assert!(shown.len() <= 2, "{context}: {shown:?} came too early");
    shown.push_str(&stream.piece(&format!("{end} b")));
    shown.push_str(&stream.rest());
    assert_eq!(shown, "a [redacted:key] b", "{context}");

    let mut stream = RedactingStream::new(Arc::clone(redactor));
    let shown = [stream.record(&format!("a {start}")), stream.record(&format!("{end} b"))];
    let left: usize = shown.iter().map(|shown| shown.replace("[redacted:key]", "").len()).sum();
    assert!(left <= 4 + 3, "{context}: {shown:?}");
}

#[cfg(feature = "http")]
fn check_bytes(redactor: &Arc<Redactor>, spelled: &str, at: usize, context: &str) {
    let mut masking = MaskingBytes::new(Arc::clone(redactor));
    let whole = format!("a {spelled} b").into_bytes();
    let (start, end) = whole.split_at(at + 2);
    let shown = [masking.piece(start), masking.piece(end), masking.rest()].concat();
    assert_eq!(String::from_utf8_lossy(&shown), format!("a {} b", "*".repeat(spelled.len())), "{context}");
}

#[cfg(not(feature = "http"))]
fn check_bytes(_: &Arc<Redactor>, _: &str, _: usize, _: &str) {}

#[test]
fn no_border_leaves_a_half_of_any_planted_secret_in_any_spelling_at_any_offset() {
    let secrets = planted();
    assert_eq!(secrets.len(), 200);
    let borders: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = secrets
            .chunks(25)
            .map(|part| scope.spawn(move || part.iter().map(|secret| check_borders(secret)).sum::<usize>()))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(borders > 50_000, "{borders}");
}
