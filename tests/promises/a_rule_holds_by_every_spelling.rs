//! Rules and approvals decide what runs: whatever a path is spelled like, whatever a hook makes of the arguments, and
//! whoever answers, nothing runs that was not allowed as it runs.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use serde_json::{Value, json};
use toolcell::call::{CallError, Ended, Response};
use toolcell::hook::{
    CommandHook, ComponentHook, Events, Hook, HookCall, HookEntry, HookResult, Next, Post, Pre, async_trait,
};
use toolcell::policy::{Action, Answer, Approvals, Matcher, Question, Rule};
use toolcell::{
    Access, ErrorKind, Grant, Limits, NativeTool, Outcome, Runtime, RuntimeBuilder, Status, ToolCall,
};
use toolcell_tests::{builder, built, call, guest, probe};

/// A folder with a secret, granted as `/work`, and a link to the secret in it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("secrets")).unwrap();
    fs::write(folder.path().join("secrets/x"), "hunter2").unwrap();
    fs::write(folder.path().join("plain"), "plain").unwrap();
    std::os::unix::fs::symlink("secrets/x", folder.path().join("link")).unwrap();
    std::os::unix::fs::symlink("secrets", folder.path().join("way")).unwrap();
    folder
}

fn probing(folder: &tempfile::TempDir) -> RuntimeBuilder {
    let grant = Grant::none().dir(folder.path(), "/work", Access::ReadWrite);
    builder().component(probe(grant, Limits::new()))
}

fn secrets() -> Rule {
    Rule::deny("fs_*").argument("path", "/work/secrets/**").reason("secrets are not for agents")
}

#[tokio::test]
async fn a_deny_rule_holds_by_every_spelling_and_through_links() {
    let folder = folder();
    let runtime = built(probing(&folder).rule(Rule::allow("*")).rule(secrets()));
    for path in [
        "/work/secrets/x",
        "/work/./secrets/../secrets/x",
        "/work//secrets//x",
        "/work/secrets/x/",
        "/work/plain/../secrets/x",
        "work/secrets/x",
        "/work/SECRETS/x",
        "/work/link",
        "/work/way/x",
        "/work/way/../secrets/x",
    ] {
        let outcome = call(&runtime, "fs_read_text", json!({ "path": path })).await;
        assert_eq!(
            (outcome.status, outcome.error_kind()),
            (Status::Denied, Some(ErrorKind::Denied)),
            "{path}"
        );
        assert_eq!(outcome.text(), "the call was refused: secrets are not for agents", "{path}");
        assert_eq!(outcome.usage.fuel, None, "{path}: nothing ran");
    }
    let plain = call(&runtime, "fs_read_text", json!({"path": "/work/plain"})).await;
    assert_eq!(plain.text(), "plain");
}

#[tokio::test]
async fn a_deny_rule_on_a_folder_holds_for_what_is_in_it() {
    let folder = folder();
    for pattern in ["/work/secrets", "/work/secrets/", "**/secrets", "./secrets", "/work/{secrets,other}"] {
        let rule = Rule::deny("fs_*").argument("path", pattern);
        let runtime = built(probing(&folder).rule(Rule::allow("*")).rule(rule));
        for path in ["/work/secrets/x", "/work/./SECRETS//x", "/work/link", "/work/way/x"] {
            let outcome = call(&runtime, "fs_read_text", json!({ "path": path })).await;
            assert_eq!(outcome.error_kind(), Some(ErrorKind::Denied), "{path} by {pattern}");
        }
        let plain = call(&runtime, "fs_read_text", json!({"path": "/work/plain"})).await;
        assert_eq!(plain.text(), "plain", "{pattern}");
    }
    let allowing = built(
        probing(&folder)
            .policy_default(Action::Deny)
            .rule(Rule::allow("fs_*").argument("path", "/work/secrets")),
    );
    let outcome = call(&allowing, "fs_read_text", json!({ "path": "/work/secrets/x" })).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::Denied), "it allows no more than it says");
}

#[tokio::test]
async fn a_deny_rule_on_a_path_that_starts_nowhere_holds_too() {
    let folder = folder();
    for pattern in ["secrets/**", "**/secrets/**", "./secrets/*", "Secrets/x"] {
        let rule = Rule::deny("fs_*").argument("path", pattern);
        let runtime = built(probing(&folder).rule(Rule::allow("*")).rule(rule));
        for path in
            ["/work/secrets/x", "secrets/x", "/work/./secrets/../secrets/x", "/work/link", "/work/way/x"]
        {
            let outcome = call(&runtime, "fs_read_text", json!({ "path": path })).await;
            assert_eq!(outcome.error_kind(), Some(ErrorKind::Denied), "{path} by {pattern}");
        }
        let plain = call(&runtime, "fs_read_text", json!({"path": "/work/plain"})).await;
        assert_eq!(plain.text(), "plain", "{pattern}");
    }
}

#[tokio::test]
async fn the_strictest_rule_wins_in_every_order() {
    let folder = folder();
    let rules = [secrets(), Rule::ask("fs_*"), Rule::allow("fs_read_text")];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let building = order.iter().fold(probing(&folder), |builder, at| builder.rule(rules[*at].clone()));
        let runtime = built(building);
        let denied = call(&runtime, "fs_read_text", json!({"path": "/work/secrets/x"})).await;
        assert_eq!(denied.error_kind(), Some(ErrorKind::Denied), "{order:?}");
        let asked = call(&runtime, "fs_read_text", json!({"path": "/work/plain"})).await;
        assert_eq!(asked.error_kind(), Some(ErrorKind::ApprovalNeeded), "{order:?}");
    }
}

#[tokio::test]
async fn the_default_decides_where_no_rule_matches() {
    let folder = folder();
    let plain = json!({"path": "/work/plain"});
    for (default, kind) in [
        (Action::Allow, None),
        (Action::Ask, Some(ErrorKind::ApprovalNeeded)),
        (Action::Deny, Some(ErrorKind::Denied)),
    ] {
        let runtime = built(probing(&folder).policy_default(default));
        let outcome = call(&runtime, "fs_read_text", plain.clone()).await;
        assert_eq!(outcome.error_kind(), kind);
        let explained = runtime.explain(ToolCall::new("fs_read_text", plain.clone()));
        assert_eq!(explained.decision.unwrap().action, default);
    }
}

/// Answers as it is told, and keeps the questions.
#[derive(Clone)]
struct Asked {
    answer: Answer,
    questions: Arc<Mutex<Vec<Question>>>,
}

impl Asked {
    fn new(answer: Answer) -> Self {
        Self { answer, questions: Arc::default() }
    }

    fn of(&self, builder: RuntimeBuilder) -> Runtime {
        let Self { answer, questions } = self.clone();
        built(builder.approver(move |question: Question| {
            questions.lock().unwrap().push(question);
            let answer = answer.clone();
            async move { answer }
        }))
    }

    fn count(&self) -> usize {
        self.questions.lock().unwrap().len()
    }
}

async fn read(runtime: &Runtime, path: &str) -> Outcome {
    call(runtime, "fs_read_text", json!({ "path": path })).await
}

#[tokio::test]
async fn each_answer_reaches_as_far_as_it_says() {
    let folder = folder();
    fs::write(folder.path().join("other"), "other").unwrap();
    // The answer, and how often two equal calls and one of another file of a session ask.
    for (answer, same, other) in
        [(Answer::Once, 2, 3), (Answer::Session, 1, 2), (Answer::Always, 1, 2), (Answer::AlwaysByRule, 1, 1)]
    {
        let asked = Asked::new(answer.clone());
        let runtime = asked.of(probing(&folder).rule(Rule::ask("fs_read_text").reason("look")));
        for _ in 0..2 {
            assert_eq!(read(&runtime, "/work/plain").await.text(), "plain", "{answer:?}");
        }
        assert_eq!(asked.count(), same, "{answer:?}");
        read(&runtime, "/work/other").await;
        assert_eq!(asked.count(), other, "{answer:?}");
        let question = asked.questions.lock().unwrap()[0].clone();
        assert_eq!(question.reasons[0].text, "look");
        assert_eq!(question.arguments, json!({"path": "/work/plain"}));
        assert!(question.by_rule.is_some());
    }
    let refusing = Asked::new(Answer::Deny(Some("not now".to_owned())));
    let runtime = refusing.of(probing(&folder).rule(Rule::ask("*")));
    let outcome = read(&runtime, "/work/plain").await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::Denied));
    assert!(outcome.text().contains("not now"), "{}", outcome.text());
}

#[tokio::test]
async fn always_exactly_this_covers_no_other_argument_tool_grant_or_version() {
    let folder = folder();
    let store = Approvals::in_memory();
    let asked = Asked::new(Answer::Always);
    let rule = Rule::ask("*");
    let runtime = asked.of(probing(&folder).rule(rule.clone()).approvals(store.clone()));
    read(&runtime, "/work/plain").await;
    assert_eq!(asked.count(), 1);
    // The order of keys does not matter; everything else does.
    let kept = built(probing(&folder).rule(rule.clone()).approvals(store.clone()));
    assert_eq!(read(&kept, "/work/plain").await.status, Status::Success);
    assert_eq!(read(&kept, "/work/link").await.error_kind(), Some(ErrorKind::ApprovalNeeded));
    let other_tool = call(&kept, "fs_stat", json!({"path": "/work/plain"})).await;
    assert_eq!(other_tool.error_kind(), Some(ErrorKind::ApprovalNeeded));
    let narrower = Grant::none().dir(folder.path(), "/work", Access::Read);
    let other_grant = built(
        builder().component(probe(narrower, Limits::new())).rule(rule.clone()).approvals(store.clone()),
    );
    assert_eq!(read(&other_grant, "/work/plain").await.error_kind(), Some(ErrorKind::ApprovalNeeded));
    let grant = Grant::none().dir(folder.path(), "/work", Access::ReadWrite);
    let other_name =
        built(builder().component(probe(grant, Limits::new()).name("another")).rule(rule).approvals(store));
    assert_eq!(read(&other_name, "/work/plain").await.error_kind(), Some(ErrorKind::ApprovalNeeded));
}

#[tokio::test]
async fn a_client_that_cannot_ask_gets_an_id_and_its_operator_can_allow_it() {
    let folder = folder();
    let runtime = built(probing(&folder).rule(Rule::ask("fs_read_text").reason("look")));
    let outcome = read(&runtime, "/work/plain").await;
    assert_eq!((outcome.status, outcome.exit_code()), (Status::Denied, 4));
    let error = outcome.error.unwrap();
    assert_eq!(error.kind, ErrorKind::ApprovalNeeded);
    let details = error.details.unwrap();
    let id = details["approval"].as_str().unwrap();
    assert!(error.message.contains(id), "{}", error.message);
    runtime.approvals().allow(id, &Answer::Once).unwrap();
    assert_eq!(read(&runtime, "/work/plain").await.text(), "plain");
    assert_eq!(read(&runtime, "/work/plain").await.error_kind(), Some(ErrorKind::ApprovalNeeded), "once");
}

/// Does to arguments what it is told.
struct Rewriting(fn(&Value) -> Pre);

#[async_trait]
impl Hook for Rewriting {
    async fn pre(&self, call: &HookCall) -> HookResult<Pre> {
        Ok((self.0)(call.arguments()))
    }
}

fn to_plain(_: &Value) -> Pre {
    Pre::pass().rewrite(json!({"path": "/work/plain"}))
}

fn to_secret(_: &Value) -> Pre {
    Pre::pass().rewrite(json!({"path": "/work/way/x"}))
}

#[tokio::test]
async fn a_deny_rule_holds_for_the_original_and_for_the_rewritten_arguments() {
    let folder = folder();
    let hiding = built(probing(&folder).rule(secrets()).hook(Rewriting(to_plain)));
    assert_eq!(read(&hiding, "/work/secrets/x").await.error_kind(), Some(ErrorKind::Denied));
    let fetching = built(probing(&folder).rule(secrets()).hook(Rewriting(to_secret)));
    assert_eq!(read(&fetching, "/work/plain").await.error_kind(), Some(ErrorKind::Denied));
}

#[tokio::test]
async fn what_is_asked_about_is_what_runs() {
    let folder = folder();
    let asked = Asked::new(Answer::Once);
    let runtime = asked.of(probing(&folder)
        .hook(Rewriting(|_| Pre::ask("a hook wants to know")))
        .hook(Rewriting(to_plain))
        .rule(Rule::ask("fs_*")));
    let outcome = read(&runtime, "/work/link").await;
    assert_eq!(outcome.text(), "plain");
    let questions = asked.questions.lock().unwrap().clone();
    assert_eq!(questions.len(), 1, "all wishes to ask are one question");
    assert_eq!(questions[0].arguments, json!({"path": "/work/plain"}));
    assert_eq!(questions[0].reasons.len(), 2);
    assert_eq!(questions[0].by_rule, None, "a hook's wish is not covered by a rule");
}

#[tokio::test]
async fn an_approver_that_panics_or_never_answers_means_no() {
    let folder = folder();
    let panicking =
        built(probing(&folder).rule(Rule::ask("*")).approver(|_: Question| async { panic!("no") }));
    assert_eq!(read(&panicking, "/work/plain").await.error_kind(), Some(ErrorKind::Denied));
    let silent = built(
        probing(&folder)
            .rule(Rule::ask("*"))
            .call_timeout(std::time::Duration::from_millis(50))
            .approver(|_: Question| std::future::pending()),
    );
    assert_eq!(read(&silent, "/work/plain").await.error_kind(), Some(ErrorKind::Timeout));
}

/// Arguments of the counting tool.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

/// A tool that counts how often it runs.
fn note(runs: &Arc<AtomicUsize>) -> NativeTool<String> {
    let runs = Arc::clone(runs);
    NativeTool::new("note", "Keeps a note", move |Text { text }: Text, _| {
        runs.fetch_add(1, Ordering::Relaxed);
        async move { Ok::<_, String>(text) }
    })
}

/// A runtime with that tool.
fn counting(runs: &Arc<AtomicUsize>) -> RuntimeBuilder {
    Runtime::builder().native(note(runs))
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let text = prop_oneof![Just("a"), Just("b"), Just("*"), Just("a*")];
    let one = (0..3_u8, text, any::<bool>()).prop_map(|(action, text, all)| {
        let rule = match action {
            0 => Rule::allow("*"),
            1 => Rule::ask("note"),
            _ => Rule::deny("n*"),
        };
        if all { rule } else { rule.argument("text", Matcher::from(text)) }
    });
    prop::collection::vec(one, 0..4)
}

fn objecting(kind: u8) -> HookEntry {
    HookEntry::new(Rewriting(match kind {
        0 => |_| Pre::pass(),
        1 => |_| Pre::deny("no"),
        2 => |_| Pre::ask("why"),
        _ => |_| Pre::pass().meta("a", "b"),
    }))
}

/// A hook around or after a call, by its number.
struct Later(u8);

#[async_trait]
impl Hook for Later {
    async fn around(&self, _: &HookCall, next: Next<'_>) -> HookResult<Ended> {
        match self.0 {
            4 => Err("broken".into()),
            5 => Ok(Ended::failed(CallError::new(ErrorKind::Busy, "not now"))),
            6 => {
                next.run().await;
                Ok(next.run().await)
            }
            _ => Ok(next.run().await),
        }
    }

    async fn post(&self, _: &HookCall, _: &Response) -> HookResult<Post> {
        match self.0 {
            7 => Ok(Post::replace(Response::text("made up"))),
            8 => Ok(Post::Withhold("not for you".to_owned())),
            9 => Err("broken".into()),
            _ => Ok(Post::Accept),
        }
    }
}

fn hook(kind: u8) -> HookEntry {
    if kind < 4 { objecting(kind) } else { HookEntry::new(Later(kind)) }
}

/// Whether a call was let through, whatever hooks made of it then.
fn is_let_through(runs: &AtomicUsize, outcome: &Outcome) -> bool {
    let runs = runs.load(Ordering::Relaxed);
    assert!(runs <= 2 && (runs == 0 || outcome.status != Status::Denied || outcome.text().contains("ran")));
    runs > 0 || outcome.status != Status::Denied
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn another_hook_or_stricter_rule_never_allows_more(
        rules in rules(), text in "[ab]{1,2}", first in 0..10_u8, stricter in rules(), added in 0..10_u8,
    ) {
        let stricter: Vec<Rule> = stricter.into_iter().filter(|rule| rule.action != Action::Allow).collect();
        let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let passes = |rules: &[Rule], hooks: &[u8]| {
            let runs = Arc::new(AtomicUsize::new(0));
            let building = rules.iter().cloned().fold(counting(&runs), RuntimeBuilder::rule);
            let building = hooks.iter().fold(building, |builder, kind| builder.hook(hook(*kind)));
            let runtime = built(building);
            let outcome = executor.block_on(call(&runtime, "note", json!({ "text": text })));
            if hooks.iter().all(|kind| *kind < 4) {
                let runs = runs.load(Ordering::Relaxed);
                assert_eq!(runs == 1, outcome.status == Status::Success, "{outcome:?}");
            }
            is_let_through(&runs, &outcome)
        };
        let before = passes(&rules, &[first]);
        let more: Vec<Rule> = rules.iter().cloned().chain(stricter).collect();
        prop_assert!(before || !passes(&more, &[first]));
        prop_assert!(before || !passes(&rules, &[first, added]));
        prop_assert!(before || !passes(&rules, &[added, first]));
    }
    #[test]
    fn no_rewrite_gets_around_a_deny_rule_on_the_original_arguments(
        rules in rules(), text in "[ab]{1,2}", rewritten in "[abc]{1,2}",
    ) {
        let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ran = |rules: Vec<Rule>, hook: bool| {
            let runs = Arc::new(AtomicUsize::new(0));
            let building = rules.into_iter().fold(counting(&runs), RuntimeBuilder::rule);
            let building = if hook { building.hook(Other(rewritten.clone())) } else { building };
            executor.block_on(call(&built(building), "note", json!({ "text": text })));
            runs.load(Ordering::Relaxed) == 1
        };
        let denying: Vec<Rule> = rules.iter().filter(|rule| rule.action == Action::Deny).cloned().collect();
        let is_denied = !ran(denying, false);
        prop_assert!(!is_denied || !ran(rules, true));
    }
}

/// A hook that says yes, that asks a component, and that replaces what came of the call.
fn outsiders() -> Vec<HookEntry> {
    let says = |text: &str| HookEntry::new(CommandHook::new(["/bin/sh", "-c", &format!("echo '{text}'")]));
    vec![
        says(r#"{"hookSpecificOutput": {"permissionDecision": "allow"}}"#).on(Events::PRE),
        says(r#"{"updatedOutput": "made up"}"#).on(Events::POST),
        HookEntry::new(ComponentHook::file(guest("judge")).unwrap()),
    ]
}

#[tokio::test]
async fn no_program_and_no_component_allows_what_is_denied() {
    let objections: [fn(RuntimeBuilder) -> RuntimeBuilder; 4] = [
        |builder| builder.rule(Rule::deny("note")),
        |builder| builder.rule(Rule::ask("note")),
        |builder| builder.hook(objecting(1)),
        |builder| builder.hook(objecting(2)),
    ];
    for object in objections {
        for position in 0..outsiders().len() {
            for is_first in [true, false] {
                let runs = Arc::new(AtomicUsize::new(0));
                let building = builder().native(note(&runs));
                let added = outsiders().swap_remove(position);
                let building =
                    if is_first { object(building.hook(added)) } else { object(building).hook(added) };
                let outcome = call(&built(building), "note", json!({ "text": "a" })).await;
                assert_eq!(
                    (outcome.status, runs.load(Ordering::Relaxed)),
                    (Status::Denied, 0),
                    "{outcome:?}"
                );
            }
        }
    }
    for hook in outsiders() {
        let runs = Arc::new(AtomicUsize::new(0));
        let outcome =
            call(&built(builder().native(note(&runs)).hook(hook)), "note", json!({ "text": "a" })).await;
        assert_eq!(runs.load(Ordering::Relaxed), 1, "else it proves nothing: {outcome:?}");
    }
}

/// Replaces the text of the note.
struct Other(String);

#[async_trait]
impl Hook for Other {
    async fn pre(&self, _: &HookCall) -> HookResult<Pre> {
        Ok(Pre::pass().rewrite(json!({ "text": self.0 })))
    }
}
