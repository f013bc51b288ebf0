//! A hook that decides as it is told: by its configuration's `mode`, else by a call's metadata of that name.

use std::fs;

mod bindings {
    wit_bindgen::generate!({ path: "../wit", world: "judge", generate_all });
}

use bindings::exports::toolcell::tool::hook::{Answer, Change, Decision, Guest, Request, Verdict};
use bindings::toolcell::tool::types::{Content, Entry, Output};
use bindings::wasi::config::store;

struct Judge;

bindings::export!(Judge with_types_in bindings);

fn mode(request: &Request) -> String {
    let told = request.metadata.iter().find(|entry| entry.key == "mode").map(|entry| entry.value.clone());
    store::get("mode").ok().flatten().or(told).unwrap_or_default()
}

fn entry(key: &str, value: impl Into<String>) -> Entry {
    Entry { key: key.to_owned(), value: value.into() }
}

fn change(arguments: &str) -> Decision {
    Decision::Rewrite(Change { arguments: arguments.to_owned(), metadata: Vec::new() })
}

/// What of the host it can see.
fn seen() -> String {
    let folders = fs::read_dir("/").map_or(0, |entries| entries.count());
    let variables = std::env::vars().count();
    format!("{folders} folders, {variables} variables")
}

/// Ends as no hook should.
fn misbehave(mode: &str) {
    match mode {
        "trap" => panic!("as told"),
        "exit" => std::process::exit(0),
        "spin" => loop {
            std::hint::spin_loop();
        },
        "hog" => {
            let mut all: Vec<Vec<u8>> = Vec::new();
            loop {
                all.push(vec![1; 1 << 20]);
            }
        }
        _ => {}
    }
}

impl Guest for Judge {
    fn pre(request: Request) -> Decision {
        let mode = mode(&request);
        misbehave(&mode);
        match mode.as_str() {
            "deny" => Decision::Deny(format!("{} is refused", request.tool)),
            "ask" => Decision::Ask(format!("may {} run?", request.tool)),
            "rewrite" => change("{\"value\": \"rewritten\"}"),
            "rewrite-unreadable" => change("{"),
            "rewrite-unfit" => change("{\"value\": 7, \"more\": true}"),
            "facts" => {
                let facts = request.facts.iter().map(|fact| format!("{}={}", fact.key, fact.value));
                let mut facts: Vec<String> = facts.filter(|fact| !fact.starts_with("digest=")).collect();
                facts.push(request.arguments);
                facts.push(seen());
                Decision::Deny(facts.join("\n"))
            }
            _ => Decision::Pass(vec![entry("judged", "yes")]),
        }
    }

    fn post(request: Request, answer: Answer) -> Verdict {
        let mode = mode(&request);
        match mode.as_str() {
            "post-trap" => misbehave("trap"),
            "post-spin" => misbehave("spin"),
            _ => {}
        }
        match mode.as_str() {
            "replace" => Verdict::Replace(Output {
                content: vec![Content::Text("replaced".to_owned())],
                structured: None,
            }),
            "replace-unfit" => Verdict::Replace(Output {
                content: Vec::new(),
                structured: Some("{\"result\": 7}".to_owned()),
            }),
            "enrich" => {
                let kinds = answer.facts.iter().map(|fact| format!("{}={}", fact.key, fact.value));
                let kinds: Vec<String> = kinds.collect();
                let structured = answer.structured.unwrap_or_default();
                let note = format!("{} blocks, {structured} {}", answer.content.len(), kinds.join(" "));
                Verdict::Enrich(vec![Content::Text(note.trim().to_owned())])
            }
            "withhold" => Verdict::Withhold("not for you".to_owned()),
            _ => Verdict::Accept,
        }
    }
}
