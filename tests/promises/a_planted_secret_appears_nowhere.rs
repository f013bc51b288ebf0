//! Two hundred secrets, in every encoding, told by every way out of a cell: none of them appears on the other side, nor
//! what a border leaves of one, wherever it cuts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::{Value, json};
use toolcell::audit::{Audit, Detail};
use toolcell::call::Response;
use toolcell::hook::{Hook, HookCall, HookResult, Post, Pre, async_trait};
use toolcell::policy::{Answer, Question, Rule, Secret};
use toolcell::{Grant, Limit, Limits, Outcome, Runtime, ToolCall};
use toolcell_tests::{builder, built, encoders, probe};

/// How many secrets are told in one call.
const AT_ONCE: usize = 5;

/// Tokens, passwords with everything in them, other scripts, several lines, digits.
fn planted() -> Vec<String> {
    (0..200_u32)
        .map(|number| match number % 5 {
            0 => format!("sk-{number:04}-AbCdEf0123456789"),
            1 => format!("p@ss/w\"rd\\{number} <&>+=?"),
            2 => format!("пароль-{number}-ключ🔑"),
            3 => format!("-----BEGIN-----\nline {number}/+==\n-----END-----"),
            _ => format!("{:08}", 73_000_000 + number * 7),
        })
        .collect()
}

/// A secret as programs write it, in base64 what depends on the secret alone.
fn encoded(secret: &str) -> Vec<String> {
    [encoders::written(secret), cores_in_base64(secret)].concat()
}

/// In base64, what depends on the text alone.
fn cores_in_base64(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for engine in [&STANDARD, &URL_SAFE] {
        for before in 0..3_usize {
            let whole = engine.encode([vec![b'x'; before], text.as_bytes().to_vec(), vec![b'q']].concat());
            let (from, to) = ((before * 8).div_ceil(6), (before + text.len()) * 8 / 6);
            all.push(whole.get(from..to).unwrap_or_default().to_owned());
        }
    }
    all
}

/// What everybody on the other side saw, by who saw it.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<(String, String)>>>);

impl Seen {
    fn add(&self, who: &str, text: impl Into<String>) {
        self.0.lock().unwrap().push((who.to_owned(), text.into()));
    }

    fn add_outcome(&self, what: &str, outcome: &Outcome) {
        self.add(what, serde_json::to_string(outcome).unwrap());
        self.add(what, format!("{outcome:?}"));
        self.add(what, outcome.text());
        outcome.logs.iter().for_each(|log| self.add(what, &log.text));
    }
}

#[async_trait]
impl Hook for Seen {
    fn name(&self) -> &str {
        "seeing"
    }

    async fn pre(&self, call: &HookCall) -> HookResult<Pre> {
        self.add("a hook before", call.arguments().to_string());
        Ok(Pre::pass())
    }

    async fn post(&self, call: &HookCall, response: &Response) -> HookResult<Post> {
        self.add("a hook after", format!("{} {response:?}", call.arguments()));
        Ok(Post::Accept)
    }
}

fn holding(secrets: &[String]) -> Grant {
    let named = secrets.iter().enumerate();
    named.fold(Grant::none(), |grant, (number, secret)| {
        grant.secret(format!("s{number}"), Secret::value(secret.as_str()).readable())
    })
}

async fn told(runtime: &Runtime, seen: &Seen, tool: &str, arguments: Value) -> Outcome {
    let (sender, mut receiver) = tokio::sync::mpsc::channel(10_000);
    let call = ToolCall::new(tool, arguments);
    let outcome = runtime.session("s").call(call).events(sender).timeout(Duration::from_millis(4_000)).await;
    seen.add_outcome(tool, &outcome);
    while let Some(event) = receiver.recv().await {
        seen.add("a listener", serde_json::to_string(&event).unwrap());
    }
    if let Some(handle) = outcome.truncated.as_ref().and_then(|truncated| truncated.handle.as_ref()) {
        let mut text = Vec::new();
        let mut stored = runtime.outputs().open("s", &handle.parse().unwrap()).unwrap();
        stored.bytes(0..u64::MAX, &mut text).unwrap();
        seen.add("the stored output", String::from_utf8(text).unwrap());
    }
    outcome
}

#[tokio::test]
async fn two_hundred_secrets_in_every_encoding_by_every_way_out() {
    let secrets = planted();
    let (seen, folder) = (Seen::default(), tempfile::tempdir().unwrap());
    let (asking, file) = (seen.clone(), folder.path().join("audit.jsonl"));
    let runtime = built(
        builder()
            .component(probe(holding(&secrets), Limits::default()))
            .hook(seen.clone())
            .rule(Rule::ask("echo_string"))
            .approver(move |question: Question| {
                asking.add("the approver", format!("{question:?}"));
                async { Answer::Once }
            })
            .audit(Audit::file(&file).arguments(Detail::Full)),
    );
    told(&runtime, &seen, "config_values", json!({})).await;
    for group in secrets.chunks(AT_ONCE) {
        let all: Vec<String> = group.iter().flat_map(|secret| encoded(secret)).collect();
        let text = all.join(" | ");
        let object: Value = all.iter().map(|form| (form.clone(), json!([form, { "a": form }]))).collect();
        for (tool, arguments) in [
            ("echo_string", json!({ "value": text })),
            // More than a model sees, so that the whole is stored.
            ("echo_string", json!({ "value": format!("{text}{}", "-".repeat(60_000)) })),
            ("rich_output", json!({ "structured": object.to_string() })),
            ("print", json!({ "channel": "stdout", "pattern": text, "count": 1 })),
            ("print", json!({ "channel": "stderr", "pattern": text, "count": 3 })),
            ("panic_with", json!({ "message": text })),
            ("fail", json!({ "message": text })),
            ("keep_get", json!({ "bucket": text, "key": text })),
            // Of a text that does not fit, an error shows the beginning.
            ("echo_u32", json!({ "value": text })),
            ("echo_u32", json!({ "value": format!("no {}", group[4]) })),
            ("metadata_of", json!({ "key": text, text.as_str(): text })),
        ] {
            told(&runtime, &seen, tool, arguments).await;
        }
        let chunks = ToolCall::new("emit_and_spin", json!({ "text": text }));
        let outcome = runtime.call(chunks).timeout(Duration::from_millis(500)).await;
        seen.add_outcome("emit_and_spin", &outcome);
        for piece in all.chunks(20) {
            let log = json!({ "level": "info", "text": piece.join(" | "), "count": 1 });
            told(&runtime, &seen, "log_many", log).await;
        }
    }
    drop(runtime);
    seen.add("the audit", std::fs::read_to_string(file).unwrap());

    let forms: Vec<String> = secrets.iter().flat_map(|secret| encoded(secret)).collect();
    assert!(forms.len() > 200 * 7, "{}", forms.len());
    let finder = AhoCorasick::new(&forms).unwrap();
    let seen = seen.0.lock().unwrap();
    for (who, text) in seen.iter() {
        if let Some(found) = finder.find(text) {
            let form = &forms[found.pattern().as_usize()];
            panic!(
                "{who} saw `{form}` in {}",
                &text[text.floor_char_boundary(found.start().saturating_sub(80))..found.end()]
            );
        }
    }
    // Everybody was told something, or the test would prove nothing.
    for who in [
        "echo_string",
        "rich_output",
        "print",
        "panic_with",
        "fail",
        "keep_get",
        "echo_u32",
        "emit_and_spin",
        "log_many",
        "config_values",
        "a hook before",
        "a hook after",
        "a listener",
        "the approver",
        "the audit",
        "the stored output",
    ] {
        let marks = seen.iter().filter(|(other, text)| other == who && text.contains("[redacted")).count();
        assert!(marks > 0, "{who} saw nothing of what was told");
    }
}

/// The letters of a secret that `text` shows before one of the places where it was shortened, as errors write them, if they are
/// more than three bytes.
fn half_of<'s>(secret: &'s str, text: &str) -> Option<&'s str> {
    let starts = secret.char_indices().map(|(at, letter)| &secret[..at + letter.len_utf8()]);
    let starts: Vec<&str> = starts.filter(|start| start.len() > 3).collect();
    let cut = text.split('…').collect::<Vec<_>>();
    let written = |start: &str| {
        let in_json = json!(start).to_string();
        let pointer = start.replace('~', "~0").replace('/', "~1").replace('\n', "\u{fffd}");
        [start.to_owned(), in_json.trim_matches('"').to_owned(), pointer]
    };
    let is_shown = |start: &&str| {
        let forms = written(start);
        cut[..cut.len() - 1].iter().any(|shown| forms.iter().any(|form| shown.ends_with(form.as_str())))
    };
    starts.into_iter().find(is_shown)
}

#[tokio::test]
async fn an_error_repeats_no_half_of_any_planted_secret() {
    let secrets = planted();
    let runtime = built(builder().component(probe(holding(&secrets), Limits::default())));
    let mut shortened = 0;
    for secret in &secrets {
        for before in (0..=66).step_by(6) {
            let text = format!("{}{secret}{secret}{secret}", ".".repeat(before));
            let duplicate = format!("{{{0}: 1, {0}: 2}}", json!(text));
            let wrong = [
                ToolCall::new("echo_u32", json!({ "value": text })),
                ToolCall::new("echo_u32", json!({ "value": 1, text.as_str(): 1 })),
                ToolCall::new("echo_u32", toolcell::call::Arguments::Text(duplicate)),
            ];
            for call in wrong {
                let outcome = runtime.call(call).await;
                let error = outcome.error.as_ref().unwrap();
                let mut told = vec![error.message.as_str()];
                told.extend(error.violations.iter().flat_map(|it| [it.path.as_str(), it.got.as_str()]));
                for told in told {
                    shortened += usize::from(told.contains('…'));
                    assert_eq!(half_of(secret, told), None, "{secret:?} after {before}: {told}");
                }
            }
        }
    }
    assert!(shortened > 2_000, "{shortened}");
}

/// The offsets of a border in a text that begins so many bytes before it: all of short texts, and so many of long ones.
fn offsets(form: &str) -> impl Iterator<Item = usize> {
    let step = (form.len() / 24).max(1);
    (0..=form.len()).step_by(step).filter(|at| form.is_char_boundary(*at))
}

/// What was kept of a text of dashes around a secret has nothing of the secret beside them.
fn assert_only_dashes(what: &str, kept: &str, secret: &str) {
    let left = kept.replace("[redacted:s0]", "").replace("[redacted]", "");
    let foreign: String = left.chars().filter(|letter| !matches!(letter, '-' | '=' | '\n')).collect();
    assert!(foreign.is_empty(), "{what}: `{foreign}` is left of `{secret}`: {kept}");
}

#[tokio::test]
async fn a_border_cuts_no_secret_in_halves_wherever_it_lies() {
    const KEPT: usize = 128;
    for secret in ["hunter2_0123456789", "p@ss/w\"rd\\7 <&>+?", "пароль_7_ключ🔑"] {
        let limits = Limits::default().with(Limit::StdioBytes, KEPT as u64);
        let runtime = built(builder().component(probe(holding(&[secret.to_owned()]), limits)));
        let call = async |tool: &str, arguments: Value| runtime.call(ToolCall::new(tool, arguments)).await;
        for form in encoded(secret) {
            for offset in offsets(&form) {
                // What is printed is kept at both ends, with the border in the middle of the secret.
                let half = KEPT / 2;
                let Some(before) = half.checked_sub(offset) else { continue };
                let after = "-".repeat(half.saturating_sub(form.len() - offset));
                let printed = format!("{}{form}{}{form}{after}", "-".repeat(before), "=".repeat(400));
                let arguments = json!({ "channel": "stderr", "pattern": printed, "count": 1 });
                let log = call("print", arguments).await.logs.remove(0).text;
                let kept: Vec<&str> = log.lines().filter(|line| !line.contains("bytes")).collect();
                assert_only_dashes("stderr", &kept.join(""), secret);
            }
            // A record is cut at four kilobytes.
            for offset in offsets(&form) {
                let text = format!("{}{form}{}", "-".repeat(4096 - offset), "-".repeat(200));
                let arguments = json!({ "level": "info", "text": text, "count": 1 });
                let log = call("log_many", arguments).await.logs.remove(0).text;
                assert_only_dashes("a record", &log, secret);
            }
        }
    }
}
