//! What a text of 1 MB passes through on its way to a model, each stage alone.

use std::hint::black_box;
use std::time::Duration;

use serde_json::{Value, json};
use toolcell::output::{Bounds, Keep, OutputStore, clean, truncate_text};
use toolcell::policy::Secret;
use toolcell::schema::{Bounds as ArgumentBounds, RepairMode, parse_arguments};
use toolcell::{Grant, Limits};

use crate::measure::{in_turns, median, timed};
use crate::page::{Section, micros};
use crate::pipeline::{Piped, wait};
use crate::work::{Work, text};

/// Bytes of the text.
const SIZE: usize = 1 << 20;

fn speed(time: Duration) -> String {
    format!("{:.1} GB/s", SIZE as f64 / time.as_secs_f64() / 1e9)
}

/// How much longer a call takes that covers a secret.
fn redaction() -> Duration {
    let work = Work::Repeat(text(SIZE));
    let plain = Piped::new(&work, Grant::none(), Limits::new());
    let secret = Secret::value("a secret of the bench, long enough");
    let covered = Piped::new(&work, Grant::none().secret("key", secret), Limits::new());
    let medians = wait(in_turns(&[&plain, &covered], 9, 40));
    medians[1].saturating_sub(medians[0])
}

pub fn section() -> Section {
    let text = text(SIZE);
    let arguments = json!({ "text": text }).to_string();
    let value = Value::String(text.clone());
    let folder = tempfile::tempdir().unwrap();
    let store = OutputStore::in_folder(folder.path().join("outputs")).unwrap();
    let bounds = Bounds::default();
    let alone = |act: &mut dyn FnMut()| median(&mut timed(41, act));
    let stages: [(&str, Duration); 6] = [
        (
            "read the arguments from JSON, and bound them",
            alone(&mut || {
                let parsed = parse_arguments(&arguments, ArgumentBounds::default(), RepairMode::default());
                drop(black_box(parsed.unwrap()));
            }),
        ),
        (
            "clean the result of what is no text",
            alone(&mut || {
                black_box(clean(&text));
            }),
        ),
        ("cover one secret in all its spellings", redaction()),
        (
            "cut to what a model is given",
            alone(&mut || {
                black_box(truncate_text(&text, &bounds, Keep::default(), ""));
            }),
        ),
        (
            "keep all of it for later, in a file",
            alone(&mut || {
                black_box(store.put("bench", text.as_bytes()).unwrap());
            }),
        ),
        (
            "write as JSON",
            alone(&mut || {
                black_box(value.to_string());
            }),
        ),
    ];
    let row = |(name, time)| vec![String::from(name), micros(time), speed(time)];
    Section {
        title: "The stages of a text of 1 MB",
        words: "Each alone, in its own loop; the redaction as what it adds to a call.".to_owned(),
        head: vec!["stage", "time", "speed"],
        rows: stages.into_iter().map(row).collect(),
    }
}
