//! What `toolcell:tool` offers.

use crate::Probe;
use crate::bindings::exports::toolcell::guests::host::{CallFacts, Ending, Guest};
use crate::bindings::toolcell::tool::files::{FileError, Replacement};
use crate::bindings::toolcell::tool::types::{Binary, Content, Media, Output, Reference};
use crate::bindings::toolcell::tool::{context, events};

fn words(error: FileError) -> String {
    format!("{}: {}", error.kind, error.message)
}

fn media(data: &[u8], mime_type: &str) -> Media {
    Media { data: data.to_vec(), mime_type: mime_type.to_owned() }
}

impl Guest for Probe {
    fn log_many(level: events::Level, text: String, count: u32) -> u32 {
        (0..count).for_each(|_| events::log(level, &text));
        count
    }

    fn progress_many(count: u64) -> u64 {
        for done in 1..=count {
            events::progress(done, Some(count), Some(&format!("step {done}")));
        }
        count
    }

    fn emit_many(count: u32, bytes: u64) -> u32 {
        for number in 0..count {
            events::emit(&Content::Text(format!("{number} {}", "x".repeat(bytes as usize))));
        }
        count
    }

    fn emit_and_spin(text: String) {
        events::emit(&Content::Text(text));
        loop {
            std::hint::black_box(());
        }
    }

    fn facts() -> CallFacts {
        let budget = context::output_budget();
        CallFacts {
            call_id: context::call_id(),
            session: context::session(),
            trace: context::trace(),
            budget_bytes: budget.bytes,
            budget_lines: budget.lines,
        }
    }

    fn metadata_of(key: String) -> Option<String> {
        context::metadata(&key)
    }

    fn rich_output(structured: Option<String>) -> Output {
        let content = vec![
            Content::Text("text \u{1b}[1mbold\u{1b}[0m".to_owned()),
            Content::Json(r#"{"a": [1, 2]}"#.to_owned()),
            Content::Image(media(b"\x89PNG", "image/png")),
            Content::Audio(media(b"RIFF", "audio/wav")),
            Content::Blob(Binary {
                data: b"\0\x01".to_vec(),
                mime_type: "application/octet-stream".to_owned(),
                uri: Some("file:///work/blob".to_owned()),
            }),
            Content::Link(Reference {
                uri: "https://example.org/".to_owned(),
                name: Some("example".to_owned()),
                mime_type: Some("text/html".to_owned()),
            }),
        ];
        Output { content, structured }
    }

    fn replace_file(
        path: String,
        content: String,
        piece: u32,
        create_parents: bool,
        ending: Ending,
    ) -> Result<(), String> {
        let replacement = Replacement::open(&path, create_parents).map_err(words)?;
        for bytes in content.as_bytes().chunks(piece.max(1) as usize) {
            replacement.write(bytes).map_err(words)?;
        }
        match ending {
            Ending::Commit => replacement.commit().map_err(words),
            Ending::Abandon => Ok(()),
            Ending::Trap => std::process::abort(),
            Ending::Hang => loop {
                std::hint::black_box(&replacement);
            },
            Ending::CommitTwice => {
                replacement.commit().map_err(words)?;
                replacement.commit().map_err(words)
            }
        }
    }
}
