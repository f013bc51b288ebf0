#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

mod borders;
#[path = "../../../../tests/src/encoders.rs"]
mod encoders;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::call::{CallError, Content, Denial, Ended, ErrorKind, Log, Returned};

fn redactor(secrets: &[(&str, &str)]) -> Redactor {
    Redactor::new(secrets.iter().copied()).unwrap().unwrap()
}

/// 200 secrets as they are planted: tokens, passwords with everything in them, other scripts, several lines.
fn planted() -> Vec<String> {
    (0..200_u32)
        .map(|number| match number % 5 {
            0 => format!("sk-{number:04}-AbCdEf0123456789"),
            1 => format!("p@ss/w\"rd\\{number} <&>+=?"),
            2 => format!("пароль-{number}-ключ🔑"),
            3 => format!("-----BEGIN-----\nline {number}/+==\n-----END-----\n"),
            _ => format!("{:08}", 73_000_000 + number * 7),
        })
        .collect()
}

/// What a secret looks like when programs write it.
fn written(secret: &str) -> Vec<String> {
    encoders::all(secret)
}

fn check(redactor: &Redactor, text: &str, context: &str) {
    assert!(!redactor.is_in(text), "{context}: {text:?}");
}

#[test]
fn no_spelling_of_any_planted_secret_survives() {
    for secret in planted() {
        let redactor = redactor(&[("key", &secret)]);
        for spelled in written(&secret) {
            let redacted = redactor.text(&format!("before {spelled} after")).into_owned();
            check(&redactor, &redacted, &secret);
            assert!(redacted.contains("[redacted:key]"), "{spelled:?} of {secret:?}: {redacted}");
            assert!(redacted.starts_with("before ") && redacted.ends_with(" after"), "{redacted}");
        }
    }
}

#[test]
fn what_is_escaped_again_or_as_a_form_is_found_and_without_the_spaces_around_it() {
    for (secret, shown) in [
        ("AT&T-secret-12345", "AT&amp;amp;T-secret-12345"),
        ("x>y-secret-12345'", "x&amp;gt;y-secret-12345&amp;#39;"),
        ("my *pass phrase* 77", "my+%2Apass+phrase%2A+77"),
        ("tilde~ pass phrase", "tilde~+pass+phrase"),
        ("\u{a0}token-12345678\u{3000}", "token-12345678"),
        ("\u{200b}token-12345678\u{feff}", "token-12345678"),
    ] {
        let redactor = redactor(&[("key", secret)]);
        assert_eq!(redactor.text(&format!("a {shown} b")), "a [redacted:key] b", "{secret:?}");
    }
}

#[test]
fn overlapping_and_repeating_secrets_leave_nothing() {
    let overlapping = redactor(&[("one", "abcdefgh"), ("two", "efghijklmn")]);
    assert_eq!(overlapping.text("x abcdefghijklmn y"), "x [redacted:two] y");
    let repeating = redactor(&[("key", "abcabcab")]);
    assert_eq!(repeating.text("abcabcabcabcab"), "[redacted:key]");
    assert_eq!(repeating.cut_end("- abcabcabcabc"), "- [redacted:key]");
    assert_eq!(repeating.cut_start("cabcabcabcab -"), "[redacted:key] -");
    assert_eq!(repeating.text("unharmed abcabca"), "unharmed abcabca");
}

#[test]
fn what_cleaning_would_put_together_is_found() {
    let redactor = redactor(&[("key", "hunter2-hunter2")]);
    for hidden in ["hunter2-\u{1b}[31mhunter2", "hunter2\u{200b}-hunter2", "hunter\u{0}2-hunter2"] {
        let redacted = redactor.text(hidden).into_owned();
        assert!(!clean(&redacted).contains("hunter2-hunter2"), "{redacted:?}");
    }
}

#[test]
fn keys_values_and_numbers_are_redacted() {
    let redactor = redactor(&[("key", "hunter2-hunter2"), ("pin", "12345678")]);
    let mut value = json!({
        "hunter2-hunter2": ["hunter2-hunter2", { "a": "xhunter2-hunter2x" }],
        "n": 912_345_678, "m": 1234567, "other": true,
    });
    redactor.value(&mut value);
    assert_eq!(
        value,
        json!({
            "[redacted:key]": ["[redacted:key]", { "a": "x[redacted:key]x" }],
            "n": "9[redacted:pin]", "m": 1234567, "other": true,
        })
    );
}

#[test]
fn every_part_of_an_end_is_redacted() {
    let secret = "hunter2-hunter2";
    let redactor = redactor(&[("key", secret)]);
    let mut error = CallError::new(ErrorKind::ToolError, format!("m {secret}")).help(format!("h {secret}"));
    error.details = Some(json!({ secret: secret }));
    let mut ended = Ended::failed(error);
    ended.chunks = vec![
        Content::Text { text: "hunter2-".to_owned() },
        Content::Text { text: "hunter2".to_owned() },
        Content::Image {
            data: STANDARD.encode(format!("GIF89a{secret}")),
            mime_type: "image/gif".to_owned(),
        },
        Content::Link {
            uri: format!("https://x/?k={secret}"),
            name: Some(secret.to_owned()),
            mime_type: None,
        },
        Content::Json { json: json!([secret]) },
    ];
    ended.logs = vec![Log::new("info", "hunter2"), Log::new("stderr", "-hunter2")];
    ended.denials = vec![
        Denial::new("dirs", "open", format!("/{secret}"), "s"),
        Denial::new("dirs", "open", "/w/hunter2-hun…", "s"),
    ];
    redactor.ended(&mut ended);
    check(&redactor, &format!("{ended:?}"), "an end");
    assert_eq!(ended.denials[1].target, "/w/…");
    assert_eq!(ended.logs[0].text, "[redacted:key]");
    assert!(matches!(&ended.chunks[2], Content::Text { text } if text.contains("left out")));
    let mut ended = Ended::from(Ok(Returned::Value(Some(json!(format!("x{secret}"))))));
    redactor.ended(&mut ended);
    assert!(matches!(ended.end, Ok(Returned::Value(Some(Value::String(text)))) if text == "x[redacted:key]"));
}

#[test]
fn a_secret_that_another_begins_with_is_not_the_rest_of_a_stream() {
    // What JSON makes of the first begins with it, as the third does with the second.
    let secrets = ["hunter2\\", "abcdefgh", "abcdefghij"];
    let redactor = Arc::new(redactor(&[("one", secrets[0]), ("two", secrets[1]), ("three", secrets[2])]));
    for secret in secrets {
        for at in 0..=secret.len() {
            for before in ["", "so: "] {
                let mut stream = RedactingStream::new(Arc::clone(&redactor));
                let pieces = [before, &secret[..at], &secret[at..]];
                let mut shown: String = pieces.iter().map(|piece| stream.piece(piece)).collect();
                shown.push_str(&stream.rest());
                assert!(
                    !redactor.is_in(&shown) && shown.contains("[redacted:"),
                    "{secret} cut at {at}: {shown}"
                );
                let mut masking = MaskingBytes::new(Arc::clone(&redactor));
                let mut masked: Vec<u8> =
                    pieces.iter().flat_map(|piece| masking.piece(piece.as_bytes())).collect();
                masked.extend(masking.rest());
                assert_eq!(
                    String::from_utf8(masked).unwrap(),
                    format!("{before}{}", "*".repeat(secret.len()))
                );
            }
        }
    }
}

#[test]
fn what_is_around_a_secret_is_no_part_of_it() {
    let secret = "sk-live_AbCd1234-wxyz9876";
    for kept in [format!("{secret}\t"), format!(" {secret}"), format!("\n{secret} \n\n")] {
        let redactor = redactor(&[("key", &kept)]);
        for spelled in written(secret).into_iter().chain(written(&kept)) {
            let redacted = redactor.text(&format!("before {spelled} after")).into_owned();
            assert!(redacted.contains("[redacted:key]"), "{kept:?}: {spelled:?}: {redacted}");
            check(&redactor, &redacted, &kept);
        }
    }
}

#[test]
fn a_credential_within_one_is_found() {
    let encoded = STANDARD.encode("alice:correct-horse-battery");
    for secret in [encoded.clone(), format!("Basic {encoded}")] {
        let redactor = redactor(&[("key", &secret)]);
        for shown in [encoded.as_str(), "alice:correct-horse-battery", "correct-horse-battery"] {
            for spelled in written(shown) {
                let redacted = redactor.text(&format!("you are {spelled}!")).into_owned();
                assert!(redacted.contains("[redacted:key]"), "{spelled}: {redacted}");
            }
        }
        assert_eq!(redactor.text("alice and a horse-battery"), "alice and a horse-battery");
    }
    let bearer = redactor(&[("key", "Bearer sk-live_AbCd1234")]);
    assert_eq!(bearer.text("got sk-live_AbCd1234"), "got [redacted:key]");
}

/// A key as tools write one; the lines are random to whoever reads them.
fn key_of_lines(lines: u64) -> String {
    let body: Vec<String> = (0..lines)
        .map(|line| {
            STANDARD.encode(
                (0..6)
                    .flat_map(|part| (line * 7 + part).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes())
                    .collect::<Vec<u8>>(),
            )
        })
        .collect();
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", body.join("\n"))
}

#[test]
fn each_line_of_a_key_is_found_however_the_key_is_laid_out() {
    let key = key_of_lines(6);
    let lines: Vec<&str> = key.lines().filter(|line| !line.starts_with('-')).collect();
    let account = json!({ "type": "service_account", "private_key": key }).to_string();
    for secret in [key.clone(), key.replace('\n', "\r\n"), key.replace('\n', "\\n"), account] {
        let redactor = redactor(&[("key", &secret)]);
        let indented = key.replace('\n', "\n      ");
        for laid_out in [&key, &indented, &lines.concat(), &lines.join(" "), lines[3]] {
            let redacted = redactor.text(laid_out).into_owned();
            assert!(lines.iter().all(|line| !redacted.contains(line)), "{redacted}");
        }
        for spelled in encoders::common(lines[2]) {
            assert!(redactor.is_in(&spelled), "{spelled}");
        }
        assert_eq!(redactor.text("-----BEGIN PRIVATE KEY-----"), "-----BEGIN PRIVATE KEY-----");
    }
}

#[test]
fn the_longest_secrets_take_little_and_are_found() {
    let size = |redactor: &Redactor| redactor.automaton.spellings().iter().map(Vec::len).sum::<usize>();
    let punctuated: String = (0..1_000).map(|number| format!("\"<&'é/+\\{number:03}%\u{1}")).collect();
    let lines: String = (0..450).map(|number| format!("p@ss/w\"rd\\{number} <&>+=? and more\n")).collect();
    for secret in [punctuated, lines, key_of_lines(240)] {
        let redactor = redactor(&[("key", &secret)]);
        assert!(size(&redactor) < 20 << 20, "{}", size(&redactor));
        for spelled in encoders::common(&secret) {
            let text = format!("a {spelled} b");
            let redacted = redactor.text(&text);
            assert!(
                redacted.starts_with("a ") && redacted.ends_with(" b") && redacted.len() < 60,
                "{redacted}"
            );
            let cut = &spelled[..spelled.floor_char_boundary(spelled.len() - 9)];
            assert!(redactor.cut_end(&format!("a {cut}")).len() < 60);
        }
    }
    let many: Vec<String> = (0..5).map(|number| format!("{number}{}", "x".repeat(16_000))).collect();
    let refused = Redactor::new(many.iter().map(|secret| ("key", secret.as_str()))).unwrap_err();
    assert!(refused.contains("80005 bytes together, and at most 65536"), "{refused}");
}

#[test]
fn what_is_left_out_behind_several_texts_leaves_no_half_in_them() {
    let secret = "sk-live_AbCd1234-wxyz9876";
    let redactor = redactor(&[("key", secret)]);
    for end in 1..secret.len() {
        for between in 0..=end {
            let (mut first, mut second) =
                (format!("a {}", &secret[..between]), secret[between..end].to_owned());
            redactor.cut_last(&mut [&mut first, &mut second]);
            assert_eq!((first.as_str(), second.as_str()), ("a ", ""), "{between} of {end}");
        }
    }
    let (mut first, mut second) = (format!("a {secret}"), "\u{1b}[1msk-\u{1b}[0mlive".to_owned());
    redactor.cut_last(&mut [&mut first, &mut second]);
    assert_eq!((first.as_str(), second.as_str()), ("a [redacted:key]", ""));
}

#[test]
fn nothing_shows_what_is_looked_for() {
    let shown = format!("{:?}", redactor(&[("key", "hunter2-hunter2")]));
    assert!(!shown.contains("hunter"), "{shown}");
    assert!(Redactor::new([]).unwrap().is_none());
}

proptest! {
    /// Whatever the text and wherever it is split: what was shown, put together, has no secret in it.
    #[test]
    fn no_secret_survives_in_any_text(
        secrets in prop::collection::vec("[ab]{8,12}|\\PC{8,10}", 1..3),
        parts in prop::collection::vec((0..4_usize, "[ab]{0,6}|\\PC{0,6}", 0..40_usize), 0..12),
        splits in prop::collection::vec(0..400_usize, 0..8),
    ) {
        let names = ["one", "two", "three"];
        let named: Vec<(&str, &str)> = names.into_iter().zip(secrets.iter().map(String::as_str)).collect();
        let redactor = Arc::new(redactor(&named));
        prop_assume!(!named.iter().any(|(name, _)| redactor.is_in(&mark(name))));
        let mut text = String::new();
        for (which, noise, spelling) in &parts {
            text.push_str(noise);
            if let Some(secret) = secrets.get(*which) {
                let spelled = written(secret);
                text.push_str(&spelled[spelling % spelled.len()]);
            }
        }
        prop_assert!(!redactor.is_in(&redactor.text(&text)));

        let mut splits: Vec<usize> = splits.iter().map(|at| text.floor_char_boundary(*at)).collect();
        splits.extend([0, text.len()]);
        splits.sort_unstable();
        let mut pieces: Vec<String> =
            splits.windows(2).map(|ends| text[ends[0]..ends[1]].to_owned()).collect();
        let mut stream = RedactingStream::new(Arc::clone(&redactor));
        let mut shown: String = pieces.iter().map(|piece| stream.piece(piece)).collect();
        shown.push_str(&stream.rest());
        prop_assert!(!redactor.is_in(&shown), "{shown:?}");
        redactor.pieces(&mut pieces.iter_mut().collect::<Vec<_>>());
        prop_assert!(!redactor.is_in(&pieces.concat()));

        let middle = text.floor_char_boundary(text.len() / 2);
        let cut = format!("{}\n...\n{}", redactor.cut_end(&text[..middle]), redactor.cut_start(&text[middle..]));
        prop_assert!(!redactor.is_in(&cut));
    }
}

#[test]
fn the_last_words_of_what_was_cut_have_no_half_of_a_secret() {
    let long = "0123456789abcdefghijklmnopqrstuvwxyz".repeat(10);
    for secret in ["sk-live_4f_AbCd12345678", "first line\nsecond of it\nthe last", long.as_str()] {
        let redactor = Redactor::new([("k", secret)]).unwrap().unwrap();
        for around in ["E: ", "\u{1b}[31m"] {
            for end in ["\n", ""] {
                let text = format!("{around}{secret}{end}").repeat(4);
                let text = text.as_str();
                for start in 0..text.len() {
                    let Some(tail) = text.get(start..) else { continue };
                    let words = redactor.last_words(&clean(tail));
                    let is_part =
                        |part: &[u8]| secret.as_bytes().windows(part.len()).any(|here| here == part);
                    let told = words.replace("[redacted:k]", "");
                    let left = told.as_bytes().windows(TOLERATED + 2).find(|part| is_part(part));
                    assert_eq!(left, None, "{start}: {words}");
                }
            }
        }
    }
}
