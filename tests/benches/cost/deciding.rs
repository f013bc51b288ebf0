//! What is added to the bare cell by deciding on a call and by writing it down: one rule, one native hook, the audit.

use toolcell::audit::Audit;
use toolcell::hook::{Events, HookCall, HookResult, Pre, async_trait};
use toolcell::policy::Rule;
use toolcell::{Grant, Hook, Limits, RuntimeBuilder};

use crate::measure::in_turns;
use crate::page::{Section, micros};
use crate::pipeline::{Celled, Either, Piped, wait};
use crate::work::Work;

/// Lets every call pass.
struct Passing;

#[async_trait]
impl Hook for Passing {
    fn events(&self) -> Events {
        Events::PRE
    }

    async fn pre(&self, _: &HookCall) -> HookResult<Pre> {
        Ok(Pre::pass())
    }
}

pub fn section() -> Section {
    let work = Work::Echo("hello world".to_owned());
    let folder = tempfile::tempdir().unwrap();
    let audit = folder.path().join("audit");
    let ruled = |builder: RuntimeBuilder| builder.rule(Rule::deny("echo").argument("text", "no*"));
    let hooked = |builder: RuntimeBuilder| ruled(builder).hook(Passing);
    let audited = |builder: RuntimeBuilder| hooked(builder).audit(Audit::folder(&audit));
    let piped = |more: &dyn Fn(RuntimeBuilder) -> RuntimeBuilder| {
        Either::Piped(Box::new(Piped::with(&work, Grant::none(), Limits::new(), more)))
    };
    let cell = Either::Celled(Box::new(Celled::new(&work, Grant::none(), Limits::new())));
    let subjects = [cell, piped(&|builder| builder), piped(&ruled), piped(&hooked), piped(&audited)];
    let names =
        ["the cell", "a call: with validation", "and one rule", "and one native hook", "and the audit"];
    let medians = wait(in_turns(&subjects.iter().collect::<Vec<_>>(), 15, 4_000));
    let rows = names.iter().zip(&medians).map(|(name, taken)| {
        vec![(*name).to_owned(), micros(*taken), micros(taken.saturating_sub(medians[0]))]
    });
    Section {
        title: "What deciding and recording add",
        words: "`echo` of 11 bytes by the component without WASI. Each line has what those before it have. The rule looks \
                at an argument, the hook lets every call pass, the audit is a file to which one line a call is handed \
                before the outcome is returned. Medians of fifteen rounds in turns."
            .to_owned(),
        head: vec!["what", "time", "above the cell"],
        rows: rows.collect(),
    }
}
