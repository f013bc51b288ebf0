//! Deny beats ask beats allow, however the rules are ordered and the arguments are spelled.

#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::limits::Origin;

const READ: Subject<'static> = Subject {
    tool: "read",
    origin: "files.read-file",
    component: "files",
    group: Some("disk"),
    read_only: true,
    destructive: false,
};

/// Links of a guest: `/ws/link` leads to `/ws/secret`; relative paths start at `/ws`.
struct Links;

impl GuestPaths for Links {
    fn resolved(&self, path: &str) -> Vec<String> {
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/ws/{path}") };
        let plain = lexical(&path);
        let place = match plain.strip_prefix("/ws/link") {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("/ws/secret{rest}"),
            _ => plain,
        };
        let is_granted = place == "/ws" || place.starts_with("/ws/");
        is_granted.then_some(place).into_iter().collect()
    }
}

fn decide(rules: &[Rule], default: Action, subject: &Subject<'_>, arguments: &Value) -> Decision {
    Rules::new(rules.to_vec(), default).unwrap().for_tool(subject).decide(arguments, arguments, &Links)
}

fn action(rules: &[Rule], arguments: &Value) -> Action {
    decide(rules, Action::Deny, &READ, arguments).action
}

fn guarded() -> [Rule; 3] {
    [
        Rule::allow("read"),
        Rule::ask("read").argument("path", "/ws/**"),
        Rule::deny("read").argument("path", "/ws/secret/**"),
    ]
}

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

#[test]
fn deny_beats_ask_beats_allow_in_every_order_and_spelling() {
    for order in ORDERS {
        let rules = order.map(|index| guarded()[index].clone());
        for (path, expected) in [
            ("/ws/secret/x", Action::Deny),
            ("/ws/./secret/x", Action::Deny),
            ("/ws/a/../secret/x", Action::Deny),
            ("/ws/./secret/../secret/x", Action::Deny),
            ("/ws//secret/x", Action::Deny),
            ("//ws/secret/x", Action::Deny),
            ("/../ws/secret/x", Action::Deny),
            ("/ws/SECRET/x", Action::Deny),
            ("/WS/Secret/x", Action::Deny),
            ("/ws/ſecret/x", Action::Deny),
            ("/ws/secret", Action::Deny),
            ("/ws/secret/", Action::Deny),
            ("/ws/secret/x///", Action::Deny),
            ("/ws/secret/.", Action::Deny),
            ("ws/secret/x", Action::Deny),
            ("./ws/secret/x", Action::Deny),
            ("secret/x", Action::Deny),
            ("./secret", Action::Deny),
            ("a/../secret/x", Action::Deny),
            ("/ws/link", Action::Deny),
            ("/ws/link/x", Action::Deny),
            ("link/x", Action::Deny),
            ("/ws/./link/x/", Action::Deny),
            ("/ws/secrets/x", Action::Ask),
            ("/ws/secret/../x", Action::Deny),
            ("/ws", Action::Ask),
            ("/ws/", Action::Ask),
            ("", Action::Ask),
            ("/wsx/secret/x", Action::Allow),
            ("/other/ws/secret", Action::Allow),
            ("/ws/../x", Action::Ask),
        ] {
            let decision = decide(&rules, Action::Deny, &READ, &json!({ "path": path }));
            assert_eq!(decision.action, expected, "{path} in {order:?}");
        }
    }
}

#[test]
fn a_tool_is_known_by_its_name_and_by_its_place() {
    let renamed = Subject { tool: "fs_cat", ..READ };
    for pattern in ["fs_cat", "fs_*", "files.read-file", "files.*", "read-file", "read_file", "READ_*"] {
        let rules = [Rule::deny(pattern)];
        assert_eq!(decide(&rules, Action::Allow, &renamed, &json!({})).action, Action::Deny, "{pattern}");
    }
    for (pattern, expected) in [
        ("fs_cat", Action::Allow),
        ("files.read-file", Action::Allow),
        ("read_file", Action::Ask),
        ("read-file", Action::Ask),
        ("FS_CAT", Action::Ask),
        ("write_*", Action::Ask),
    ] {
        let rules = [Rule::allow(pattern)];
        assert_eq!(decide(&rules, Action::Ask, &renamed, &json!({})).action, expected, "{pattern}");
    }
}

#[test]
fn all_that_a_rule_says_of_a_tool_must_hold() {
    for (rule, expected) in [
        (Rule::deny("*"), true),
        (Rule::deny("read").tools(["write"]), true),
        (Rule::new(Action::Deny).component("fil*"), true),
        (Rule::new(Action::Deny).component("basics"), false),
        (Rule::new(Action::Deny).group("disk"), true),
        (Rule::new(Action::Deny).group("net"), false),
        (Rule::new(Action::Deny).read_only(true), true),
        (Rule::new(Action::Deny).read_only(false), false),
        (Rule::new(Action::Deny).destructive(false).read_only(true), true),
        (Rule::new(Action::Deny).destructive(true).read_only(true), false),
    ] {
        let denied = decide(std::slice::from_ref(&rule), Action::Allow, &READ, &json!({})).action;
        assert_eq!(denied == Action::Deny, expected, "{rule:?}");
        let ungrouped = Subject { group: None, ..READ };
        if rule.group.is_some() {
            assert_eq!(decide(&[rule], Action::Allow, &ungrouped, &json!({})).action, Action::Allow);
        }
    }
}

#[test]
fn arguments_match_by_what_they_are() {
    let matcher = |value: Matcher| Rule::deny("*").argument("a", value);
    for (rule, matching, other) in [
        (
            matcher("rm *".into()),
            vec![json!("rm -rf /"), json!("RM x"), json!(["ls", "rm x"])],
            vec![json!("rm"), json!(3), json!(null)],
        ),
        (matcher(Matcher::Glob("/x/*".into())), vec![json!("/x/a/b")], vec![json!("/y")]),
        (
            matcher(Matcher::Regex("^a+$".into())),
            vec![json!("aa"), json!([["a"]])],
            vec![json!("ab"), json!({"a": "a"})],
        ),
        (matcher(5.into()), vec![json!(5), json!(5.0), json!([1, 5])], vec![json!("5"), json!(6), json!([])]),
        (matcher(true.into()), vec![json!(true)], vec![json!("true"), json!(1)]),
        (
            matcher(Matcher::Equals(json!(["a"]))),
            vec![json!(["a"]), json!([["a"]])],
            vec![json!("a"), json!([])],
        ),
        (
            matcher(Matcher::Equals(json!({"x": 1, "y": 2}))),
            vec![json!({"y": 2.0, "x": 1})],
            vec![json!({"x": 1})],
        ),
        (matcher(Matcher::Equals(Value::Null)), vec![json!(null)], vec![json!(0), json!("")]),
        (
            matcher(vec!["/a/**", "b*"].into()),
            vec![json!("/A/x"), json!("bc")],
            vec![json!("/b"), json!("c")],
        ),
        (matcher(Matcher::Glob("1?".into())), vec![json!(12), json!("12")], vec![json!(2)]),
    ] {
        for value in matching {
            assert_eq!(
                action(std::slice::from_ref(&rule), &json!({ "a": value })),
                Action::Deny,
                "{rule:?} {value}"
            );
        }
        for value in other {
            let decision = decide(std::slice::from_ref(&rule), Action::Allow, &READ, &json!({ "a": value }));
            assert_eq!(decision.action, Action::Allow, "{rule:?} {value}");
        }
        let missing = decide(std::slice::from_ref(&rule), Action::Allow, &READ, &json!({})).action;
        let is_null = rule.arguments.first().unwrap().1 == Matcher::Equals(Value::Null);
        assert_eq!(missing == Action::Deny, is_null, "{rule:?} without the argument");
    }
}

#[test]
fn an_allow_rule_wants_every_spelling_and_every_item() {
    let rules = [Rule::allow("read").argument("path", "/ws/out/**")];
    for (path, expected) in [
        (json!("/ws/out/a"), Action::Allow),
        (json!("/ws/./out//a/"), Action::Allow),
        (json!("out/a"), Action::Allow),
        (json!(["/ws/out/a", "/ws/out"]), Action::Allow),
        (json!([]), Action::Deny),
        (json!(["/ws/out/a", "/ws/a"]), Action::Deny),
        (json!("/ws/OUT/a"), Action::Deny),
        (json!("/ws/out/../a"), Action::Deny),
        (json!("/ws/link/../out/a"), Action::Deny),
        (json!(7), Action::Deny),
        (json!(null), Action::Deny),
    ] {
        assert_eq!(action(&rules, &json!({ "path": path })), expected, "{path}");
    }
    let linked = [Rule::allow("read").argument("path", "/ws/link/**")];
    assert_eq!(action(&linked, &json!({ "path": "/ws/link/x" })), Action::Deny, "it leads elsewhere");
    assert_eq!(action(&[Rule::allow("read").argument("a", "1*")], &json!({ "a": 12 })), Action::Deny);
    let nested = [Rule::allow("read").argument("edits.path", "/ws/**")];
    assert_eq!(
        action(&nested, &json!({ "edits": [{ "path": "/ws/a" }, { "path": "/ws/b" }] })),
        Action::Allow
    );
    assert_eq!(action(&nested, &json!({ "edits": [{ "path": "/ws/a" }, {}] })), Action::Deny);
    assert_eq!(action(&nested, &json!({ "edits": [{ "path": "/ws/a" }, { "path": "/b" }] })), Action::Deny);
}

#[test]
fn a_pattern_that_starts_nowhere_is_one_of_paths_too() {
    let long = format!("{}secret/x", "a/../".repeat(2000));
    for pattern in ["secret/**", "**/secret/**", "./secret/**", "SECRET/**"] {
        let rules = [Rule::allow("read"), Rule::deny("read").argument("path", pattern)];
        for (path, expected) in [
            ("secret/x", Action::Deny),
            ("secret", Action::Deny),
            ("./secret/x", Action::Deny),
            ("/ws/secret/x", Action::Deny),
            ("/ws/secret", Action::Deny),
            ("/ws/a/../secret/x", Action::Deny),
            ("/ws//SECRET//x/", Action::Deny),
            ("/ws/deep/below/secret/x", Action::Deny),
            ("/ws/link/x", Action::Deny),
            ("link/x", Action::Deny),
            ("link", Action::Deny),
            (&long, Action::Deny),
            ("/ws/secrets/x", Action::Allow),
            ("/ws/other/x", Action::Allow),
            ("secret/../x", Action::Deny),
            (&"a long text that is no path ".repeat(400), Action::Allow),
        ] {
            assert_eq!(action(&rules, &json!({ "path": path })), expected, "{path:.40} by {pattern}");
        }
    }
    let text = [Rule::allow("read"), Rule::deny("read").argument("path", Matcher::Glob("secret/**".into()))];
    assert_eq!(
        action(&text, &json!({ "path": "/ws/secret/x" })),
        Action::Allow,
        "it was written as one of texts"
    );
    let one_name = [Rule::allow("read"), Rule::ask("read").argument("path", "keys/*.pem")];
    for (path, expected) in [
        ("/ws/keys/a.pem", Action::Ask),
        ("keys/a.PEM", Action::Ask),
        ("/ws/keys/a.txt", Action::Allow),
        ("/ws/keys/deep/a.pem", Action::Allow),
    ] {
        assert_eq!(action(&one_name, &json!({ "path": path })), expected, "{path}");
    }
}

#[test]
fn an_allow_rule_that_starts_nowhere_is_not_left_by_dots_or_links() {
    let rules =
        [Rule::allow("read").argument("path", "out/**"), Rule::allow("read").argument("path", "link/**")];
    for (path, expected) in [
        ("out/a", Action::Allow),
        ("out/", Action::Allow),
        ("out/./a//b", Action::Allow),
        ("out/x/../a", Action::Allow),
        ("out/../secret/x", Action::Deny),
        ("out/../../etc", Action::Deny),
        ("OUT/a", Action::Deny),
        ("/ws/out/a", Action::Deny),
        ("link/x", Action::Deny),
    ] {
        assert_eq!(action(&rules, &json!({ "path": path })), expected, "{path}");
    }
    let command = [Rule::allow("read").argument("path", "git diff */src/*")];
    for (text, expected) in [("git diff a/src/b/c", Action::Allow), ("git diff a/src/../b", Action::Deny)] {
        assert_eq!(action(&command, &json!({ "path": text })), expected, "{text}");
    }
    let url = [Rule::allow("read").argument("path", "https://example.org/**")];
    assert_eq!(action(&url, &json!({ "path": "https://example.org/a" })), Action::Allow);
}

#[test]
fn a_pattern_that_no_path_matches_is_told_of() {
    let told = |matcher: Matcher| {
        let mut rule = Rule::deny("*").argument("path", matcher);
        rule.origin = Origin { at: Some("toolcell.toml:7".into()), ..Origin::default() };
        Rules::new(vec![rule], Action::Allow).unwrap().without_paths()
    };
    for (pattern, why) in [
        ("../secret/**", "`..`"),
        ("a/../b", "`..`"),
        ("a//b", "an empty part"),
        ("a/./b", "`.` and"),
        ("~/.ssh/**", "no home folder"),
    ] {
        let told = told(pattern.into());
        assert_eq!(told.len(), 1, "{pattern}");
        assert!(told[0].starts_with("toolcell.toml:7: `rule[0].arguments.path`: "), "{}", told[0]);
        assert!(told[0].contains(why) && told[0].contains("`{ glob = … }`"), "{}", told[0]);
    }
    assert_eq!(told(vec!["x", "../y", "../z"].into()).len(), 2);
    for silent in ["secret/**", "**/x/**", "./x/", "*.pem", "https://a/../b", "rm -rf /*"] {
        assert_eq!(told(silent.into()), Vec::<String>::new(), "{silent}");
    }
    assert_eq!(told(Matcher::Glob("a//b".into())), Vec::<String>::new());
}

#[test]
fn an_argument_may_be_inside() {
    let rules = [Rule::deny("*").argument("edits.path", "/ws/secret/**")];
    for (arguments, expected) in [
        (json!({ "edits": { "path": "/ws/secret/x" } }), Action::Deny),
        (json!({ "edits": [{ "path": "/ws/a" }, { "path": ["/b", "/ws/secret/x"] }] }), Action::Deny),
        (json!({ "edits.path": "/ws/secret/x" }), Action::Deny),
        (json!({ "edits": [{ "path": "/ws/a" }] }), Action::Allow),
        (json!({ "path": "/ws/secret/x" }), Action::Allow),
        (json!({ "edits": "path" }), Action::Allow),
    ] {
        assert_eq!(decide(&rules, Action::Allow, &READ, &arguments).action, expected, "{arguments}");
    }
}

#[test]
fn a_rewrite_cannot_hide_what_was_denied_and_is_asked_about_as_it_is() {
    let rules = Rules::new(guarded().to_vec(), Action::Allow).unwrap().for_tool(&READ);
    let [secret, open, outside] = ["/ws/secret/x", "/ws/x", "/y"].map(|path| json!({ "path": path }));
    for (original, last, expected) in [
        (&secret, &outside, Action::Deny),
        (&outside, &secret, Action::Deny),
        (&outside, &open, Action::Ask),
        (&open, &outside, Action::Allow),
    ] {
        assert_eq!(rules.decide(original, last, &Links).action, expected, "{original} {last}");
    }
}

#[test]
fn a_decision_names_its_rules() {
    let rules = [
        Rule::ask("read").reason("first\u{1b}[2J"),
        Rule::ask("*").argument("path", "/ws/**"),
        Rule::ask("write"),
    ];
    let decision = decide(&rules, Action::Allow, &READ, &json!({ "path": "/ws/x" }));
    let named: Vec<(&str, Option<&str>)> =
        decision.asks.iter().map(|source| (source.setting.as_str(), source.reason.as_deref())).collect();
    assert_eq!(named, [("rule[0]", Some("first")), ("rule[1]", None)]);
    assert_eq!(decision.deciding.as_ref(), decision.asks.first());
    assert_eq!(decision.asks.last().unwrap().words, "`*`, where `path` is the path `/ws/**`");
    let default = decide(&[], Action::Ask, &READ, &json!({}));
    assert_eq!((default.action, default.deciding, default.asks), (Action::Ask, None, Vec::new()));
}

#[test]
fn what_does_not_depend_on_arguments_is_known_beforehand() {
    let always =
        |rules: &[Rule]| Rules::new(rules.to_vec(), Action::Allow).unwrap().for_tool(&READ).is_always();
    let [allow, ask, deny] = guarded();
    assert_eq!(always(&[]), Some(Action::Allow));
    assert_eq!(always(&[Rule::ask("write")]), Some(Action::Allow));
    assert_eq!(always(std::slice::from_ref(&allow)), Some(Action::Allow));
    assert_eq!(always(&[allow, ask.clone()]), None);
    assert_eq!(always(&[ask.clone(), Rule::ask("read")]), Some(Action::Ask));
    assert_eq!(always(&[deny.clone(), Rule::ask("read")]), None);
    assert_eq!(always(&[deny, Rule::deny("read")]), Some(Action::Deny));
    let needs = |rule: Rule| Rules::new(vec![rule], Action::Allow).unwrap().for_tool(&READ).needs_paths();
    assert!(needs(ask) && !needs(Rule::deny("*").argument("a", "x")));
    assert!(needs(Rule::deny("*").argument("a", vec!["x", "/y"])));
    assert!(
        needs(Rule::deny("*").argument("a", "x/y")) && !needs(Rule::deny("*").argument("a", "http://x/y"))
    );
}

#[test]
fn wrong_rules_are_refused_with_the_part_that_is_wrong() {
    let mut told = String::new();
    for rule in [
        Rule::deny("a[").tools([""]).component("{x"),
        Rule::deny("*").argument("p", "/a/../b"),
        Rule::deny("*").argument("p", "/a//b"),
        Rule::deny("*").argument("p", Matcher::Path("a/b".into())),
        Rule::deny("*").argument("p", "/a/[").argument("q", Matcher::Regex("(a".into())),
        Rule::deny("*").argument("p", Matcher::Regex("((a{1000}){1000}){1000}".into())),
        Rule::deny("*").argument("p", Matcher::Any(Vec::new())),
        Rule::deny("*").argument("p", "/a/**").matches(json!({ "p": "/b" })).no_match(json!({ "p": "/A" })),
        Rule::deny("*").matches(json!([])),
    ] {
        for (part, problem) in rule.problems() {
            told.push_str(&format!("{part}: {problem}\n"));
        }
        assert!(Rules::new(vec![rule], Action::Allow).is_err());
    }
    insta::assert_snapshot!(told);
    let error = Rules::new(vec![Rule::deny("*"), Rule::deny("[")], Action::Allow).unwrap_err();
    assert_eq!(
        error.to_string(),
        "rule[1]: `rule[1].tools[0]`: `[` is no glob: unclosed character class; missing ']'"
    );
}

#[test]
fn odd_patterns_match_without_case_too() {
    let denies =
        |pattern: &str, text: &str| action(&[Rule::deny("*").argument("a", pattern)], &json!({ "a": text }));
    for (pattern, text) in
        [("/X/[Z-a]", "/x/z"), ("/straße/**", "/STRASSE/x"), ("/É", "/é"), ("/**", "/"), ("/", "/")]
    {
        assert_eq!(denies(pattern, text), Action::Deny, "{pattern} {text}");
    }
}

/// Rules over a few names, so that they meet.
fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let action = prop::sample::select(vec![Action::Allow, Action::Ask, Action::Deny]);
    let tool = prop::sample::select(vec!["*", "read", "write", "re*", "files.*"]);
    let argument = prop::option::of(prop::sample::select(vec![
        "/ws/**",
        "/ws/secret/**",
        "/**",
        "/ws/*",
        "x*",
        "/WS/A",
        "secret/**",
        "**/a/*",
    ]));
    let rule =
        (action, tool, argument, any::<Option<bool>>()).prop_map(|(action, tool, argument, read_only)| {
            let mut rule = Rule::new(action).tools([tool]);
            rule.read_only = read_only;
            match argument {
                Some(pattern) => rule.argument("path", pattern),
                None => rule,
            }
        });
    prop::collection::vec(rule, 0..6)
}

fn paths() -> impl Strategy<Value = Value> {
    let part = prop::sample::select(vec!["ws", "secret", "link", "SECRET", ".", "..", "", "a", "x"]);
    let path = (any::<bool>(), prop::collection::vec(part, 0..5)).prop_map(|(rooted, parts)| {
        Value::from(format!("{}{}", if rooted { "/" } else { "" }, parts.join("/")))
    });
    prop_oneof![path.clone(), prop::collection::vec(path, 0..3).prop_map(Value::Array), Just(Value::Null)]
}

proptest! {
    #[test]
    fn a_further_deny_or_ask_rule_never_loosens(
        before in rules(), added in rules(), at in any::<prop::sample::Index>(), default in 0..3usize,
        original in paths(), last in paths(),
    ) {
        let default = [Action::Allow, Action::Ask, Action::Deny][default];
        let (original, last) = (json!({ "path": original }), json!({ "path": last }));
        let decide = |rules: &[Rule]| {
            Rules::new(rules.to_vec(), default).unwrap().for_tool(&READ).decide(&original, &last, &Links).action
        };
        let without = decide(&before);
        let mut with = before;
        for rule in added.into_iter().filter(|rule| rule.action != Action::Allow) {
            with.insert(at.index(with.len() + 1), rule);
        }
        let after = decide(&with);
        prop_assert!(after >= without || without != Action::Allow && after == Action::Ask, "{without:?} {after:?}");
        if without != Action::Allow {
            prop_assert_ne!(after, Action::Allow);
        }
    }

    #[test]
    fn order_never_matters(
        (ordered, shuffled) in rules().prop_flat_map(|rules| (Just(rules.clone()), Just(rules).prop_shuffle())),
        path in paths(),
    ) {
        let arguments = json!({ "path": path });
        prop_assert_eq!(action(&ordered, &arguments), action(&shuffled, &arguments));
    }

    #[test]
    fn a_spelling_of_a_denied_path_is_denied(parts in prop::collection::vec("[.]|[a-z]{1,3}/[.][.]|", 0..6), upper: bool, slash: bool) {
        let mut path = String::from("/ws");
        for part in &parts {
            path.push_str(&format!("/{part}"));
        }
        path.push_str("/secret/x");
        if upper {
            path = path.to_uppercase();
        }
        if slash {
            path.push('/');
        }
        prop_assert_eq!(action(&guarded(), &json!({ "path": path })), Action::Deny);
    }
}
