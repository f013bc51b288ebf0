//! An approval covers what was shown and nothing else, whoever else uses the store.

#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::policy::{Access, Action, Grant, NoPaths, Rule, RuleSource, Rules, Subject};

const DIGEST: &str = "sha256:00";

fn bound(grant: &Grant) -> Bound<'_> {
    Bound { tool: "write", origin: "files.write-file", component: "files", digest: DIGEST, grant }
}

fn binding(arguments: &Value) -> Binding {
    Binding::new(&bound(&grant()), arguments)
}

fn grant() -> Grant {
    Grant::none().dir("/home/u", "/work", Access::ReadWrite).env("A", "1").config("b", "2")
}

fn question(arguments: &Value) -> Question {
    Question::new("write", "files", DIGEST, arguments.clone()).reason("rule[0]", "writing is asked about")
}

fn asks(arguments: &Value, rules: &[Rule]) -> Vec<Arc<RuleSource>> {
    let subject = Subject {
        tool: "write",
        origin: "files.write-file",
        component: "files",
        group: None,
        read_only: false,
        destructive: true,
    };
    let rules = Rules::new(rules.to_vec(), Action::Allow).unwrap();
    rules.for_tool(&subject).decide(arguments, arguments, &NoPaths).asks
}

/// Both kinds of store.
fn stores() -> (tempfile::TempDir, [Approvals; 2]) {
    let scratch = tempfile::tempdir().unwrap();
    let folder = Approvals::folder(scratch.path().join("approvals"));
    (scratch, [Approvals::in_memory(), folder])
}

#[test]
fn an_approval_of_a_user_covers_this_users_calls_alone() {
    let shown = json!({ "path": "a.txt" });
    let of = |user: Option<&str>| binding(&shown).of_user(user);
    let (_scratch, stores) = stores();
    for store in stores {
        store.remember(&question(&shown), &of(Some("ada")), &Answer::Always).unwrap();
        for (user, covered) in
            [(Some("ada"), true), (Some("bob"), false), (Some("Ada"), false), (None, false)]
        {
            assert_eq!(store.allows(&of(user), None).unwrap(), covered, "{user:?}");
        }
        assert_eq!(store.list().unwrap()[0].user.as_deref(), Some("ada"));
        store.remember(&question(&shown), &of(None), &Answer::Always).unwrap();
        assert!(store.allows(&of(Some("bob")), None).unwrap(), "an operator's is for everybody");
        assert_eq!(store.list().unwrap().len(), 2);
    }
}

#[test]
fn approvals_that_were_kept_before_there_were_users_are_for_everybody() {
    let shown = json!({});
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("approvals");
    let store = Approvals::folder(&path);
    store.remember(&question(&shown), &binding(&shown), &Answer::Always).unwrap();
    assert!(!std::fs::read_to_string(path.join("approvals.json")).unwrap().contains("\"user\""));
    assert!(store.allows(&binding(&shown).of_user(Some("ada")), None).unwrap());
}

#[test]
fn always_covers_exactly_the_call_that_was_shown() {
    let shown = json!({ "path": "a.txt", "text": "x" });
    let (_scratch, stores) = stores();
    for store in stores {
        store.remember(&question(&shown), &binding(&shown), &Answer::Always).unwrap();
        for (arguments, covered) in [
            (json!({ "path": "a.txt", "text": "x" }), true),
            (json!({ "text": "x", "path": "a.txt" }), true),
            (json!({ "path": "b.txt", "text": "x" }), false),
            (json!({ "path": "a.txt", "text": "y" }), false),
            (json!({ "path": "a.txt" }), false),
            (json!({ "path": "a.txt", "text": "x", "mode": null }), false),
            (json!({ "path": "a.txt\",\"text\":\"x" }), false),
            (json!({}), false),
            (json!(null), false),
        ] {
            for session in [None, Some("s")] {
                assert_eq!(store.allows(&binding(&arguments), session).unwrap(), covered, "{arguments}");
            }
        }
    }
}

#[test]
fn an_approval_without_the_key_argument_covers_only_its_absence() {
    let store = Approvals::in_memory();
    store.remember(&question(&json!({})), &binding(&json!({})), &Answer::Always).unwrap();
    assert!(store.allows(&binding(&json!({})), None).unwrap());
    assert!(!store.allows(&binding(&json!({ "path": "a.txt" })), None).unwrap());
    let without_scope = store.remember(&question(&json!({})), &binding(&json!({})), &Answer::AlwaysByRule);
    assert!(without_scope.unwrap_err().to_string().contains("no rule asked"));
}

#[test]
fn another_tool_version_or_grant_is_asked_about_again() {
    let (arguments, granted) = (json!({ "path": "a" }), grant());
    let rules = asks(&arguments, &[Rule::ask("write")]);
    let store = Approvals::in_memory();
    let shown = Binding::new(&bound(&granted), &arguments).by_rule(&rules);
    for answer in [Answer::Always, Answer::AlwaysByRule] {
        store.remember(&question(&arguments).by_rule("all"), &shown, &answer).unwrap();
    }
    assert!(store.allows(&shown, None).unwrap());
    let grants = [
        Grant::none(),
        granted.read_only(),
        grant().dir("/x", "/x", Access::Read),
        grant().env("A", "2"),
        grant().config("A", "1"),
        Grant::none().dir("/home/u/", "/work", Access::ReadWrite).env("b", "2").config("A", "1"),
    ];
    let bounds = [
        Bound { tool: "other", ..bound(&granted) },
        Bound { origin: "files.other", ..bound(&granted) },
        Bound { component: "mine", ..bound(&granted) },
        Bound { digest: "sha256:01", ..bound(&granted) },
        Bound { tool: "", origin: "writefiles.write-file", ..bound(&granted) },
    ];
    for bound in bounds.into_iter().chain(grants.iter().map(bound)) {
        let binding = Binding::new(&bound, &arguments).by_rule(&rules);
        assert!(!store.allows(&binding, None).unwrap(), "{bound:?}");
    }
}

#[test]
fn by_rule_covers_what_the_same_rules_ask_about() {
    let [a, b, other] = ["/out/a", "/out/b", "/in/c"].map(|path| json!({ "path": path }));
    let out = Rule::ask("write").argument("path", "/out/**");
    let rules = [
        out.clone(),
        Rule::ask("write").argument("path", "/out/b").reason("twice"),
        Rule::ask("*").argument("path", "/in/**"),
    ];
    let bind = |arguments: &Value, rules: &[Rule]| binding(arguments).by_rule(&asks(arguments, rules));
    let store = Approvals::in_memory();
    store.remember(&question(&a).by_rule("out"), &bind(&a, &rules), &Answer::AlwaysByRule).unwrap();
    assert!(store.allows(&bind(&a, &rules), None).unwrap());
    assert!(store.allows(&bind(&json!({ "path": "/out/x" }), &rules), None).unwrap());
    assert!(!store.allows(&bind(&b, &rules), None).unwrap(), "one more rule asks");
    assert!(!store.allows(&bind(&other, &rules), None).unwrap(), "another rule asks");
    assert!(!store.allows(&binding(&a), None).unwrap(), "a hook alone asks");
    let moved = [Rule::ask("x"), out.reason("other words of why")];
    assert!(store.allows(&bind(&a, &moved), None).unwrap(), "the same rule elsewhere in the file");
    assert_eq!(store.list().unwrap().first().unwrap().covers, "out");
}

#[test]
fn a_session_is_one_session_and_once_is_once() {
    let (_scratch, stores) = stores();
    for store in stores {
        let (a, b) = (json!({ "path": "a" }), json!({ "path": "b" }));
        let asked = question(&a).session("s");
        store.remember(&asked, &binding(&a), &Answer::Session).unwrap();
        for (arguments, session, covered) in
            [(&a, Some("s"), true), (&a, Some("t"), false), (&a, None, false), (&b, Some("s"), false)]
        {
            assert_eq!(store.allows(&binding(arguments), session).unwrap(), covered);
        }
        for answer in [Answer::Once, Answer::Deny(None)] {
            store.remember(&question(&b), &binding(&b), &answer).unwrap();
            assert!(!store.allows(&binding(&b), None).unwrap(), "that call ran already");
        }
        let id = store.pend(&question(&b), &binding(&b)).unwrap();
        store.allow(&id, &Answer::Once).unwrap();
        assert!(store.allows(&binding(&b), None).unwrap());
        assert!(!store.allows(&binding(&b), None).unwrap());

        store.remember(&question(&b), &binding(&b), &Answer::Session).unwrap();
        assert!(store.allows(&binding(&b), None).unwrap(), "without a name the session is this process");
        assert!(!store.allows(&binding(&b), Some("s")).unwrap());
    }
    let (_scratch, [_, folder]) = self::stores();
    let a = json!({});
    folder.remember(&question(&a), &binding(&a), &Answer::Session).unwrap();
    let path = folder_of(&_scratch);
    assert!(
        !Approvals::folder(path).allows(&binding(&a), None).unwrap(),
        "another process is another session"
    );
}

fn folder_of(scratch: &tempfile::TempDir) -> PathBuf {
    scratch.path().join("approvals")
}

#[test]
fn a_question_waits_once_and_is_answered_by_its_identifier() {
    let (_scratch, stores) = stores();
    for store in stores {
        let a = json!({ "path": "a\u{1b}[2J", "key": "[secret]" });
        let id = store.pend(&question(&a), &binding(&a)).unwrap();
        assert_eq!(store.pend(&question(&a), &binding(&a)).unwrap(), id, "asked again");
        assert_ne!(store.pend(&question(&a).session("s"), &binding(&a)).unwrap(), id);
        let waiting = store.pending().unwrap();
        let pending = waiting.first().unwrap();
        let shown = r#"{"path":"a\u001b[2J","key":"[secret]"}"#;
        assert_eq!((waiting.len(), pending.arguments.as_str()), (2, shown));
        assert_eq!(pending.reasons, ["writing is asked about (rule[0])"]);
        assert!(!store.allows(&binding(&a), None).unwrap(), "to wait is not to be approved");

        for (wrong, told) in [
            (store.allow("a-0", &Answer::Once), "no question `a-0`"),
            (store.allow(&id, &Answer::Session), "named no session"),
            (store.allow(&id, &Answer::AlwaysByRule), "no rule asked"),
        ] {
            let error = wrong.unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
        assert_eq!(store.allow(&id, &Answer::Always).unwrap().id, id);
        assert!(store.allow(&id, &Answer::Always).is_err(), "answered already");
        assert!(store.allows(&binding(&a), None).unwrap());
        assert!(store.revoke(&id).unwrap() && !store.revoke(&id).unwrap());
        assert!(!store.allows(&binding(&a), None).unwrap());
        let other = store.pending().unwrap().first().unwrap().id.clone();
        store.allow(&other, &Answer::Deny(None)).unwrap();
        assert!(store.pending().unwrap().is_empty() && store.list().unwrap().is_empty());
    }
}

#[test]
fn a_once_for_a_session_is_not_spent_by_another() {
    let a = json!({});
    let (_scratch, stores) = stores();
    for store in stores {
        for session in ["s", "s\n    since nothing", &"long".repeat(300)] {
            let id = store.pend(&question(&a).session(session), &binding(&a)).unwrap();
            store.allow(&id, &Answer::Once).unwrap();
            for other in [None, Some("t"), Some("s     since nothing"), Some("long")] {
                assert!(!store.allows(&binding(&a), other).unwrap(), "{session} is not {other:?}");
            }
            assert!(store.allows(&binding(&a), Some(session)).unwrap(), "{session}");
            assert!(!store.allows(&binding(&a), Some(session)).unwrap(), "{session}: once");
        }
        let id = store.pend(&question(&a), &binding(&a)).unwrap();
        store.allow(&id, &Answer::Once).unwrap();
        assert!(store.allows(&binding(&a), Some("t")).unwrap(), "no session was named");
    }
}

#[test]
fn a_session_is_shown_on_one_line_and_stays_its_own() {
    let named = |name: &str| question(&json!({})).session(name).session.unwrap();
    let hostile = "a\n    since nothing\nice\u{1b}[1m\u{202e}";
    let shown = named(hostile);
    assert!(!shown.contains(['\n', '\u{1b}', '\u{202e}']), "{shown:?}");
    let long = "x".repeat(600);
    assert!(named(&long).len() < 100);
    assert_eq!(named("chat 7"), "chat 7");
    let names = [hostile, &shown, &named(&shown), &long, &named(&long), "a", "\"a\""];
    let all: std::collections::BTreeSet<String> = names.iter().map(|name| named(name)).collect();
    assert_eq!(all.len(), names.len(), "no two become one: {all:?}");
}

#[test]
fn questions_do_not_fill_the_disk() {
    let (scratch, [_, store]) = stores();
    let long = "\"\\é".repeat(100_000);
    for index in 0..210 {
        let arguments = json!({ "index": index, "text": long, "last": "end" });
        // The first fifty are of nobody who is known.
        let session = (index >= 50).then(|| format!("s{}", index / 50));
        let words = "\"\\é".repeat(2_000);
        let mut asked = question(&arguments).by_rule(&words);
        for _ in 0..40 {
            asked = asked.reason(&words, &words);
        }
        let asked = session.iter().fold(asked, |asked, session| asked.session(session));
        // From the 200th on one of another session gives way to each.
        store.pend(&asked, &binding(&arguments)).unwrap();
    }
    let nobodys = json!({ "index": 210, "text": long, "last": "end" });
    let refused = store.pend(&question(&nobodys), &binding(&nobodys)).unwrap_err().to_string();
    assert!(refused.contains("`toolcell approvals pending`"), "{refused}");
    let pending = store.pending().unwrap();
    assert_eq!(pending.len(), 200);
    let first = pending.first().unwrap();
    assert!(
        first.is_cut && first.arguments.starts_with("{\"index\":0,") && first.arguments.ends_with("\"end\"}"),
        "what was asked first still waits"
    );
    assert!(folder_of(&scratch).join("approvals.json").metadata().unwrap().len() < 10 << 20);
}

#[test]
fn a_full_store_takes_what_waits_already_and_more_once_there_is_room() {
    let (_scratch, stores) = stores();
    for store in stores {
        let asked = |index: u32| {
            let arguments = json!({ "index": index });
            store.pend(&question(&arguments), &binding(&arguments))
        };
        let ids: Vec<String> = (0..50).map(|index| asked(index).unwrap()).collect();
        assert!(asked(200).is_err());
        assert_eq!(asked(7).unwrap(), ids[7], "the same question waits once");
        assert!(store.revoke(&ids[3]).unwrap());
        asked(200).unwrap();
        assert!(asked(201).is_err());
        assert_eq!(store.refuse_pending().unwrap(), 50);
        assert_eq!(store.pending().unwrap().len(), 0);
        asked(201).unwrap();
    }
}

#[test]
fn nobody_takes_the_place_of_others_with_questions() {
    let (_scratch, stores) = stores();
    for store in stores {
        let asked = |index: u32, session: Option<&str>, user: Option<&str>| {
            let arguments = json!({ "index": index });
            let question = question(&arguments);
            let question = session.into_iter().fold(question, |question, session| question.session(session));
            store.pend(&question, &binding(&arguments).of_user(user)).map_err(|error| error.to_string())
        };
        // A user is one asker, in how many sessions ever.
        for index in 0..50 {
            asked(index, Some(&format!("a{index}")), Some("ada")).unwrap();
        }
        assert!(asked(50, Some("another"), Some("ada")).unwrap_err().contains("50 calls of this user"));
        for index in 0..50 {
            asked(index, Some("b"), None).unwrap();
            asked(index, Some("c"), None).unwrap();
        }
        assert!(asked(50, Some("b"), None).unwrap_err().contains("50 calls of this session"));
        for index in 0..50 {
            asked(index, None, None).unwrap();
        }
        // The oldest question of whoever has most gives way, until who comes later has as many.
        asked(50, Some("d"), None).unwrap();
        let of = |user: Option<&str>, session: &str| -> Vec<u64> {
            let waiting = store.pending().unwrap().into_iter();
            let own = waiting.filter(|pending| match user {
                Some(_) => pending.user.as_deref() == user,
                None => pending.session.as_deref() == Some(session),
            });
            own.map(|pending| {
                serde_json::from_str::<Value>(&pending.arguments).unwrap()["index"].as_u64().unwrap()
            })
            .collect()
        };
        assert_eq!(of(Some("ada"), ""), (1..50).collect::<Vec<_>>(), "of those with as many the first");
        assert_eq!((of(None, "b").len(), of(None, "c").len(), of(None, "d").len()), (50, 50, 1));
        let refused = (51..200).find_map(|index| asked(index, Some("d"), None).err()).unwrap();
        assert!(refused.contains("150 calls of users and sessions"), "{refused}");
        let counts =
            [of(Some("ada"), "").len(), of(None, "b").len(), of(None, "c").len(), of(None, "d").len()];
        assert_eq!(counts.iter().sum::<usize>(), 150, "{counts:?}");
        assert!(counts.iter().all(|count| (37..=38).contains(count)), "{counts:?}");
        // Whoever has none yet always finds room: what is left of sessions that have ended may be one of each.
        let one_more = asked(0, Some("e"), None);
        assert!(one_more.is_ok() && of(None, "e").len() == 1, "{one_more:?}");
        assert!(asked(50, None, None).unwrap_err().contains("50 calls without a session"));
    }
}

#[test]
fn what_many_want_at_once_is_kept_for_all_of_them() {
    let scratch = tempfile::tempdir().unwrap();
    // Two stores of one folder, as two processes have them.
    let stores = [Approvals::folder(folder_of(&scratch)), Approvals::folder(folder_of(&scratch))];
    std::thread::scope(|scope| {
        for index in 0..200 {
            let store = &stores[index % 2];
            scope.spawn(move || {
                let arguments = json!({ "index": index });
                store.remember(&question(&arguments), &binding(&arguments), &Answer::Always).unwrap();
            });
        }
    });
    assert_eq!(stores[0].list().unwrap().len(), 200);
}

#[test]
fn what_cannot_be_kept_fails_for_all_who_wait() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = folder_of(&scratch);
    let store = Approvals::folder(&folder);
    let a = json!({ "a": 1 });
    store.pend(&question(&a), &binding(&a)).unwrap();
    std::fs::set_permissions(folder.join("approvals.json"), std::fs::Permissions::from_mode(0o666)).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let told = store.pend(&question(&a), &binding(&a)).unwrap_err().to_string();
                assert!(told.contains("other users may have written it"), "{told}");
            });
        }
    });
}

#[test]
fn what_is_old_is_forgotten() {
    let (arguments, mut content) = (json!({}), content::Content::default());
    let day = 24 * 3600;
    for (answer, days) in [(Answer::Once, 1), (Answer::Session, 1), (Answer::Always, 10_000)] {
        let pending = Pending::new("a-1".to_owned(), &question(&arguments), &binding(&arguments), 0);
        content.approve(pending.approved(&answer, 0).unwrap().unwrap()).unwrap();
        assert!(content.covering(&binding(&arguments), None, days * day - 1).is_some(), "{answer:?}");
        assert!(days > 1 || content.covering(&binding(&arguments), None, days * day).is_none(), "{answer:?}");
        content.pend(pending).unwrap();
        content.prune(7 * day - 1);
        assert_eq!((content.approvals.len(), content.pending.len()), (usize::from(days > 1), 1));
        content.prune(7 * day);
        assert!(content.pending.is_empty());
    }
}

#[test]
fn folder_and_file_are_the_owners_alone() {
    let (scratch, [_, store]) = stores();
    let a = json!({});
    store.remember(&question(&a), &binding(&a), &Answer::Always).unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let folder = folder_of(&scratch);
    assert_eq!(mode(&folder), 0o700);
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    let set = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    set(&folder.join("approvals.json"), 0o620);
    assert!(
        store.allows(&binding(&a), None).unwrap_err().to_string().contains("other users may have written")
    );
    set(&folder.join("approvals.json"), 0o600);
    set(&folder, 0o770);
    assert!(store.allows(&binding(&a), None).unwrap_err().to_string().contains("chmod go-w"));
    assert!(store.remember(&question(&a), &binding(&a), &Answer::Always).is_err());
    set(&folder, 0o700);
    assert!(store.allows(&binding(&a), None).unwrap());
}

#[test]
fn a_damaged_store_counts_as_empty_and_is_put_aside_by_the_next_question() {
    let (scratch, [_, store]) = stores();
    let a = json!({});
    store.remember(&question(&a), &binding(&a), &Answer::Always).unwrap();
    let file = folder_of(&scratch).join("approvals.json");
    let whole = std::fs::read_to_string(&file).unwrap();
    let damages = ["", "{", "[]", "\0\0", "{\"version\":1}", whole.get(..whole.len() / 2).unwrap()];
    for (count, damage) in damages.into_iter().enumerate() {
        std::fs::write(&file, damage).unwrap();
        let warning = store.allows(&binding(&a), None).unwrap_err().to_string();
        assert!(warning.contains("nothing counts as approved"), "{warning}");
        assert!(store.list().is_err() && store.pending().is_err());
        assert!(store.allow("a-0", &Answer::Once).is_err() && store.revoke("a-0").is_err());
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            damage,
            "looking and answering throw nothing away"
        );

        let id = store.pend(&question(&a), &binding(&a)).unwrap();
        let aside = match count {
            0 => file.with_extension("json.damaged"),
            earlier => file.with_extension(format!("json.damaged-{}", earlier + 1)),
        };
        assert_eq!(std::fs::read_to_string(&aside).unwrap(), damage, "an earlier one is kept");
        assert!(!store.allows(&binding(&a), None).unwrap(), "{damage}");
        store.allow(&id, &Answer::Once).unwrap();
        assert!(store.allows(&binding(&a), None).unwrap());
        assert_eq!(store.reset().unwrap(), None, "nothing is wrong with it");
    }
}

#[test]
fn a_store_of_another_version_waits_for_its_operator() {
    let (scratch, [_, store]) = stores();
    let a = json!({});
    store.remember(&question(&a), &binding(&a), &Answer::Always).unwrap();
    let file = folder_of(&scratch).join("approvals.json");
    let later = std::fs::read_to_string(&file).unwrap().replace("\"version\": 1", "\"version\": 2");
    std::fs::write(&file, &later).unwrap();
    let told = store.pend(&question(&a), &binding(&a)).unwrap_err().to_string();
    assert!(told.contains("another version") && told.contains("`toolcell approvals reset`"), "{told}");
    assert!(store.remember(&question(&a), &binding(&a), &Answer::Always).is_err());
    assert!(store.allow("a-0", &Answer::Once).is_err() && store.revoke("a-0").is_err());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), later, "a call throws nothing away");
    let aside = store.reset().unwrap().unwrap();
    assert_eq!(std::fs::read_to_string(&aside).unwrap(), later);
    assert!(!store.allows(&binding(&a), None).unwrap());
}

#[test]
fn a_store_that_cannot_be_read_now_is_left_alone() {
    let (scratch, [_, store]) = stores();
    let a = json!({});
    store.remember(&question(&a), &binding(&a), &Answer::Always).unwrap();
    let file = folder_of(&scratch).join("approvals.json");
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("approvals.json", &file).unwrap();
    assert!(store.pend(&question(&a), &binding(&a)).is_err() && store.reset().is_err());
    assert!(file.symlink_metadata().unwrap().is_symlink());
}

/// Names the folder and a number for a child process of the test below.
const CHILD: &str = "TOOLCELL_TEST_APPROVALS";

const EACH: usize = 10;

#[test]
fn a_process_approves() {
    let (scratch, _) = stores();
    let told = std::env::var(CHILD).unwrap_or_else(|_| format!("0:{}", folder_of(&scratch).display()));
    let (number, folder) = told.split_once(':').unwrap();
    let store = Approvals::folder(folder);
    for index in 0..EACH {
        let arguments = json!({ "process": number, "index": index });
        let id = store.pend(&question(&arguments), &binding(&arguments)).unwrap();
        store.allow(&id, &Answer::Always).unwrap();
        assert!(store.allows(&binding(&arguments), None).unwrap());
    }
}

#[test]
fn processes_that_approve_at_once_lose_nothing() {
    let (scratch, [_, store]) = stores();
    let folder = folder_of(&scratch);
    let children: Vec<_> = (0..4)
        .map(|number| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "policy::approval::tests::a_process_approves"])
                .env(CHILD, format!("{number}:{}", folder.display()))
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    for (number, index) in (0..4).flat_map(|number| (0..EACH).map(move |index| (number, index))) {
        let arguments = json!({ "process": number.to_string(), "index": index });
        assert!(store.allows(&binding(&arguments), None).unwrap(), "{arguments}");
    }
}

#[test]
fn of_many_that_take_an_approval_for_once_one_has_it() {
    let (scratch, [_, store]) = stores();
    let a = json!({});
    let id = store.pend(&question(&a), &binding(&a)).unwrap();
    store.allow(&id, &Answer::Once).unwrap();
    let stores: Vec<Approvals> = (0..8).map(|_| Approvals::folder(folder_of(&scratch))).collect();
    let taken = std::thread::scope(|scope| {
        let threads: Vec<_> = stores
            .iter()
            .map(|store| scope.spawn(|| store.allows(&binding(&json!({})), None).unwrap()))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).filter(|taken| *taken).count()
    });
    assert_eq!(taken, 1);
}

#[test]
fn a_question_is_clean_and_its_words_stay_on_their_line() {
    let asked = Question::new("a\nb", "c\u{202e}", "d\r", json!({ "k\u{7}": "v\u{1b}[1m" }))
        .reason("hook\nAllow it?", "x\ty\u{9b}2J")
        .by_rule("any\ncall");
    assert_eq!((asked.tool.as_str(), asked.component.as_str()), ("a b", "c"));
    assert_eq!(asked.arguments, json!({ "k\u{7}": "v\u{1b}[1m" }), "nothing of what will run is left out");
    assert_eq!(asked.shown(false), r#"{"k\u0007":"v\u001b[1m"}"#);
    let hiding = "ls; \u{1b}]0; rm -r x\u{7} \u{9d}y\u{9c} \u{202e}z\u{e0041}";
    let hiding = Question::new("a", "c", "d", json!({ "command": hiding }));
    let shown = r#"{"command":"ls; \u001b]0; rm -r x\u0007 \u009dy\u009c \u202ez\udb40\udc41"}"#;
    assert_eq!(hiding.shown(false), shown);
    assert_eq!(asked.reasons, [Reason { source: "hook Allow it?".to_owned(), text: "x y".to_owned() }]);
    assert_eq!(asked.by_rule.as_deref(), Some("any call"));
}

#[tokio::test]
async fn a_closure_answers() {
    let approver = |question: Question| async move {
        if question.tool == "write" { Answer::Once } else { Answer::Deny(Some("no".to_owned())) }
    };
    let approver: &dyn Approver = &approver;
    assert_eq!(approver.ask(&question(&json!({}))).await, Answer::Once);
    fn takes(approver: impl Approver) -> impl Approver {
        approver
    }
    assert_eq!(takes(|_| async { Answer::Always }).ask(&question(&json!({}))).await, Answer::Always);
}
