#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::pin::Pin;
use std::task::{Context, Poll};

use serde_json::Value;
use tokio::io::{AsyncRead, ReadBuf};

use super::MAX_LINE_BYTES;
use super::lines::{Line, Lines};
use super::outbox::Outbox;
use super::read::{call_of_batch, request};
use super::reply::{Refusal, Reply};
use super::request::Request;
use crate::call::{Arguments, Content};

/// Gives its bytes one after another, waiting before each.
struct Dribble {
    bytes: Vec<u8>,
    at: usize,
    waits: bool,
}

impl AsyncRead for Dribble {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        read: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        self.waits = !self.waits;
        if self.waits {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let Some(byte) = self.bytes.get(self.at) {
            read.put_slice(&[*byte]);
            self.at += 1;
        }
        Poll::Ready(Ok(()))
    }
}

fn whole(text: &str) -> Option<Line> {
    Some(Line::Whole(text.as_bytes().to_vec()))
}

#[tokio::test]
async fn lines_are_whole_wherever_they_are_cut_and_whoever_interrupts() {
    let text = "\u{feff}{\"ä\":1}\r\n\n\u{feff}x\nlast";
    let mut lines = Lines::new(Dribble { bytes: text.as_bytes().to_vec(), at: 0, waits: false });
    let mut all = Vec::new();
    loop {
        // A reader that is dropped whenever it waits loses nothing.
        let line = tokio::select! {
            biased;
            line = lines.next() => line.unwrap(),
            () = std::future::ready(()) => continue,
        };
        match line {
            Some(line) => all.push(line),
            None => break,
        }
    }
    let expected = ["{\"ä\":1}\r", "", "\u{feff}x", "last"].map(|text| whole(text).unwrap());
    assert_eq!(all, expected);
}

#[tokio::test]
async fn a_line_that_is_too_long_is_skipped_and_the_next_is_read() {
    let mut input = vec![b'x'; MAX_LINE_BYTES + 1];
    input.extend_from_slice(b"\nnext\n");
    input.extend(vec![b'y'; MAX_LINE_BYTES]);
    let mut lines = Lines::new(input.as_slice());
    assert_eq!(lines.next().await.unwrap(), Some(Line::TooLong));
    assert_eq!(lines.next().await.unwrap(), whole("next"));
    assert_eq!(lines.next().await.unwrap(), Some(Line::Whole(vec![b'y'; MAX_LINE_BYTES])));
    assert_eq!(lines.next().await.unwrap(), None);
}

#[tokio::test]
async fn what_waits_for_a_reader_is_bounded_and_nobody_waits_for_one_that_went_away() {
    let chunk = |id: u64| {
        let id = serde_json::from_value(id.into()).unwrap();
        Reply::Chunk { id, call: None, content: Content::Text { text: "x".repeat(2 << 20) } }
    };
    let (outbox, queue) = Outbox::new();
    // Longer than the whole room: alone, it is taken.
    outbox.send(&chunk(1)).await;
    let second = chunk(2);
    let waits = async {
        tokio::select! {
            biased;
            () = outbox.send(&second) => false,
            () = std::future::ready(()) => true,
        }
    };
    assert!(waits.await, "a second one waits for the first to be written");
    let mut written = Vec::new();
    let both = async {
        outbox.send(&chunk(3)).await;
        drop(outbox);
    };
    tokio::join!(both, async { queue.write(&mut written).await.unwrap() });
    assert_eq!(written.split(|byte| *byte == b'\n').count(), 3, "two lines, each with its end");

    let (outbox, queue) = Outbox::new();
    let (output, reader) = tokio::io::duplex(16);
    drop(reader);
    outbox.send(&chunk(1)).await;
    assert!(queue.write(output).await.is_err());
    outbox.closed().await;
    outbox.send(&chunk(2)).await;
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_place() {
    let refused = request(b"{\"id\":1,\"type\":\"\xff\"}".to_vec()).unwrap_err();
    assert_eq!((refused.id, refused.kind), (None, Refusal::Unreadable));
    assert_eq!(refused.message, "the line is not UTF-8 from byte 16 on");
}

/// A call of a batch that cannot be read spoils no other, and nothing else of a line is guessed.
#[test]
fn a_batch_is_read_around_a_call_that_cannot_be() {
    let line = |more: &str, kind: &str| {
        format!(
            r#"{{"type":"{kind}","id":1,{more}"calls":[{{"id":1,"name":"t","arguments":{{"a":1,"a":2}}}},{{"id":2,"name":"t"}}]}}"#
        )
    };
    let Ok(Request::Batch { calls, .. }) = request(line("", "batch").into_bytes()) else {
        unreachable!("it is a batch")
    };
    let calls: Vec<_> = calls.iter().enumerate().map(|(at, call)| call_of_batch(at, call)).collect();
    assert_eq!(calls[0].arguments, Arguments::Text(r#"{"a":1,"a":2}"#.to_owned()));
    assert_eq!((&calls[1].id, calls[1].problem()), (&2.into(), None));
    for (more, kind, id) in
        [("", "call", Some(1)), (r#""session":"\ud800","#, "batch", Some(1)), (r#""id":2,"#, "batch", None)]
    {
        let refused = request(line(more, kind).into_bytes()).unwrap_err();
        let got = refused.id.map(|id| id.value().clone());
        assert_eq!((got, refused.kind), (id.map(Value::from), Refusal::Unreadable), "{more}");
    }
}

/// Who waits for the end of a call learns of it, wherever its line cannot be read.
#[test]
fn a_line_that_cannot_be_read_is_refused_under_its_id_where_that_can() {
    for (line, id) in [
        (r#"{"type":"call","id":"a","name":"t","arguments":{"x":1,"x":2}}"#, Some("a")),
        (r#" {"arguments":{"x":1e999},"id":"a","type":"call","name":"t"}"#, Some("a")),
        (r#"{"type":"call","id":"a","name":"t","meta":{"k":"\ud800"}}"#, Some("a")),
        (r#"{"type":"call","id":"a","name":"t","meta":{"k":"x","k":"y"}}"#, Some("a")),
        (r#"{"type":"call","id":"a","id":"b","name":"t","arguments":{"x":1,"x":2}}"#, None),
        (r#"{"type":"call","id":"\ud800","name":"t"}"#, None),
        (r#"{"type":"call","id":["a"],"name":"t","arguments":{"x":1,"x":2}}"#, None),
        (r#"{"type":"call","id":"a","name":"t""#, None),
    ] {
        let refused = request(line.as_bytes().to_vec()).unwrap_err();
        let got = refused.id.map(|id| id.value().clone());
        assert_eq!((got, refused.kind), (id.map(Value::from), Refusal::Unreadable), "{line}");
    }
}

/// Whatever is in the place of whatever, reading it ends, and says where it is wrong.
#[test]
fn any_value_in_any_place_is_read_or_refused() {
    let values = ["null", "true", "-1", "1.5", "\"\"", "\"x\"", "[]", "[1]", "{}", "{\"a\":{\"b\":[]}}"];
    let types = ["hello", "list", "export", "call", "batch", "cancel", "approve", "groups"];
    let fields =
        ["id", "format", "name", "arguments", "session", "meta", "timeout", "calls", "call", "answer"];
    for kind in types {
        for field in fields {
            for value in values {
                let line = format!("{{\"type\":\"{kind}\",\"{field}\":{value},\"more\":[{value}]}}");
                assert!(!request(line.into_bytes()).unwrap_err().message.is_empty());
                let line = format!("{{\"type\":\"{kind}\",\"id\":7,\"{field}\":{value}}}");
                if let Err(refused) = request(line.clone().into_bytes()) {
                    assert!(refused.id.is_some() || field == "id", "{line}");
                }
            }
        }
    }
}
