//! What a meter costs a guest that computes.

use toolcell::{Grant, Limits};

use crate::floor::{Floor, Metering};
use crate::measure::in_turns;
use crate::page::{Section, micros, times};
use crate::pipeline::{Either, Piped, wait};
use crate::work::{Work, document};

pub fn section() -> Section {
    let works =
        [("SHA-256 of 10 MB", Work::Digest(10)), ("parsing 1 MB of JSON", Work::Values(document(1 << 20)))];
    let row = |(name, work): (&str, Work)| {
        let floor = |metering| Either::Floor(Box::new(Floor::new(work.clone(), metering, None)));
        let subjects = [
            floor(Metering::None),
            floor(Metering::Fuel),
            floor(Metering::Epochs),
            Either::Piped(Box::new(Piped::new(&work, Grant::none(), Limits::new()))),
            Either::Piped(Box::new(Piped::new(&work, Grant::none(), Limits::new().fuel_off()))),
        ];
        let medians = wait(in_turns(&subjects.each_ref(), 9, 10));
        let (none, fuel, epochs, call, off) = (medians[0], medians[1], medians[2], medians[3], medians[4]);
        vec![
            name.to_owned(),
            micros(none),
            times(fuel, none),
            times(epochs, none),
            times(call, fuel),
            times(off, epochs),
        ]
    };
    Section {
        title: "Metering of guests that compute",
        words: "wasmtime alone without a meter, with fuel and with epochs; a call beside the one of these that has its \
                meter."
            .to_owned(),
        head: vec![
            "work",
            "no meter",
            "fuel : none",
            "epochs : none",
            "call : fuel",
            "call with `fuel = \"off\"` : epochs",
        ],
        rows: works.into_iter().map(row).collect(),
    }
}
