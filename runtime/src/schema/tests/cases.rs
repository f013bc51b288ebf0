//! The arguments that models really send, good and bad.

use super::*;

/// Types that arrive as strings.
const POINT: &str = "record point { x: u32, y: u32 }
    f: func(point: point, ids: list<u32>, n: u32, ok: bool, name: string);";

#[test]
fn a_string_that_holds_the_declared_type_is_decoded_once() {
    let signature = plain(POINT);
    let wanted = json!({"point": {"x": 1, "y": 2}, "ids": [1, 2], "n": 5, "ok": true, "name": "[1]"});
    let sent = json!({"point": "{\"x\":1,\"y\":2}", "ids": "[1,2]", "n": "5", "ok": "true", "name": "[1]"});
    for text in [sent.to_string(), Value::String(sent.to_string()).to_string()] {
        let (value, repairs) = accept(&signature, &text, RepairMode::Decode).unwrap();
        assert_eq!(value, wanted);
        let paths: Vec<&str> = repairs.iter().map(|repair| repair.path.as_str()).collect();
        assert!(paths.ends_with(&["/point", "/ids", "/n", "/ok"]), "{paths:?}");
        assert!(accept(&signature, &text, RepairMode::Off).is_err());
    }
}

#[test]
fn a_string_that_holds_something_else_is_refused_by_name_and_type() {
    let signature = plain(
        "record point { x: u32 } f: func(a: option<list<u32>>, n: option<u32>, p: option<point>, ok: option<bool>);",
    );
    for (arguments, message) in [
        (
            json!({"a": "[1,"}),
            "/a: expected array, got string \"[1,\" (pass the value itself, not a string that holds it)",
        ),
        (
            json!({"a": "[\"1\"]"}),
            "/a: expected array, got string \"[\\\"1\\\"]\" (pass the value itself, not a string that holds it)",
        ),
        (json!({"n": "five"}), "/n: expected integer from 0 to 4294967295, got string \"five\""),
        (json!({"n": "5abc"}), "/n: expected integer from 0 to 4294967295, got string \"5abc\""),
        (json!({"n": "0x10"}), "/n: expected integer from 0 to 4294967295, got string \"0x10\""),
        (json!({"n": "\"5\""}), "/n: expected integer from 0 to 4294967295, got string \"\\\"5\\\"\""),
        (json!({"n": "null"}), "/n: expected integer from 0 to 4294967295, got string \"null\""),
        (json!({"n": ""}), "/n: expected integer from 0 to 4294967295, got an empty string"),
        (json!({"ok": "yes"}), "/ok: expected boolean, got string \"yes\""),
        (
            json!({"p": "{\"x\":1,\"x\":2}"}),
            "/p: expected object, got string \"{\\\"x\\\":1,\\\"x\\\":2}\" (pass the value itself, not a string that holds it)",
        ),
    ] {
        assert_eq!(accept_value(&signature, arguments.clone()), Err(message.to_owned()), "{arguments}");
    }
}

#[test]
fn nothing_is_a_complete_set_of_arguments_for_a_tool_without_parameters() {
    let signature = plain("f: func();");
    for text in ["null", "{}", "", "  ", "\n\t", "\"\""] {
        assert_eq!(accept(&signature, text, RepairMode::Off).unwrap().0, json!({}), "{text:?}");
    }
    for value in [Value::Null, json!({}), json!(""), json!("  ")] {
        assert_eq!(accept_value(&signature, value), Ok(json!({})));
    }
    assert!(signature.takes_nothing());
    assert_eq!(
        accept(&signature, r#"{"x":1}"#, RepairMode::Decode).unwrap_err(),
        "/x: expected no properties, got an unknown property"
    );
}

#[test]
fn absent_and_null_are_none_for_an_option_and_wrong_for_the_rest() {
    let signature = plain("f: func(q: string, limit: option<u32>);");
    for arguments in [json!({"q": "a"}), json!({"q": "a", "limit": null})] {
        assert_eq!(accept_value(&signature, arguments), Ok(json!({"q": "a"})));
    }
    assert_eq!(accept_value(&signature, json!({"q": null})), Err("/q: expected string, got null".to_owned()));
    let both = plain("f: func(q: string, path: string, limit: option<u32>);");
    for nothing in [Value::Null, json!({}), json!({"limit": null})] {
        assert_eq!(
            accept_value(&both, nothing),
            Err(
                "/q: expected string (required), got nothing\n/path: expected string (required), got nothing"
                    .to_owned()
            )
        );
    }
}

#[test]
fn an_unknown_property_is_named_with_the_known_and_the_nearest_at_every_level() {
    let signature = plain(
        "record inner { follow-links: option<bool> }
        f: func(max-depth: option<u32>, path: option<string>, inner: option<inner>);",
    );
    for key in ["depth", "maxDepth", "MAX_DEPTH"] {
        assert_eq!(
            accept_value(&signature, json!({key: 3})),
            Err(format!(
                "/{key}: expected only `max_depth`, `path`, `inner`, got an unknown property (did you mean `max_depth`?)"
            ))
        );
    }
    let (value, repairs) = accept(&signature, r#"{"max-depth":3}"#, RepairMode::Off).unwrap();
    assert_eq!(value, json!({"max_depth": 3}));
    assert_eq!(repairs, [Repair::new("/max_depth", "max-depth", "max_depth")]);
    assert_eq!(accept_value(&signature, json!({"max_depth": 3})), Ok(json!({"max_depth": 3})));
    assert_eq!(
        accept_value(&signature, json!({"inner": {"follow": true}})),
        Err("/inner/follow: expected only `follow_links`, got an unknown property (did you mean `follow_links`?)".to_owned())
    );
    // Neither of two spellings of one property wins.
    for both in [json!([1, 2]), json!([null, 2]), json!([1, null]), json!([null, null])] {
        assert!(
            accept_value(&signature, json!({"max-depth": both[0], "max_depth": both[1]})).is_err(),
            "{both}"
        );
    }
}

#[test]
fn numbers_keep_their_digits_or_are_refused() {
    let signature =
        plain("f: func(a: option<u64>, b: option<s64>, c: option<u8>, f: option<f64>, g: option<f32>);");
    for (sent, wanted) in [
        (r#"{"a":18446744073709551615}"#, r#"{"a":18446744073709551615}"#),
        (r#"{"a":"18446744073709551615"}"#, r#"{"a":18446744073709551615}"#),
        (r#"{"b":"-9223372036854775808"}"#, r#"{"b":-9223372036854775808}"#),
        (r#"{"c":5.0}"#, r#"{"c":5}"#),
        (r#"{"c":2.55e2}"#, r#"{"c":255}"#),
        (r#"{"f":1e308}"#, r#"{"f":1e308}"#),
        (r#"{"f":-0.0}"#, r#"{"f":-0.0}"#),
        (r#"{"f":"NaN","g":"-Infinity"}"#, r#"{"f":"NaN","g":"-Infinity"}"#),
        (r#"{"f":"1.5","g":7}"#, r#"{"f":1.5,"g":7}"#),
    ] {
        let (value, _) = accept(&signature, sent, RepairMode::Decode).unwrap();
        assert_eq!(value, serde_json::from_str::<Value>(wanted).unwrap(), "{sent}");
    }
    for sent in [
        r#"{"f":1e400}"#,
        r#"{"f":NaN}"#,
        r#"{"f":Infinity}"#,
        r#"{"f":"1e400"}"#,
        r#"{"f":"nan"}"#,
        r#"{"g":1e39}"#,
        r#"{"a":18446744073709551616}"#,
        r#"{"b":-9223372036854775809}"#,
        r#"{"a":"007"}"#,
        r#"{"a":"+7"}"#,
        r#"{"a":-1}"#,
        r#"{"c":256}"#,
        r#"{"c":5.5}"#,
        r#"{"c":"NaN"}"#,
    ] {
        assert!(accept(&signature, sent, RepairMode::Decode).is_err(), "{sent}");
    }
    assert!(accept(&signature, r#"{"a":"7"}"#, RepairMode::Off).is_ok());
    for text in ["7", "-0"] {
        assert!(accept(&signature, &json!({"c": text}).to_string(), RepairMode::Off).is_err(), "{text}");
    }
}

#[test]
fn text_is_what_was_written_or_refused() {
    let signature = plain("f: func(s: option<string>, c: option<char>);");
    for (sent, wanted) in [
        (r#"{"s":"\ud83d\ude00"}"#, "😀"),
        (r#"{"s":"😀"}"#, "😀"),
        (r#"{"s":"a\u0000b"}"#, "a\0b"),
        (r#"{"s":" {\"x\":1} "}"#, " {\"x\":1} "),
    ] {
        assert_eq!(accept(&signature, sent, RepairMode::Json).unwrap().0["s"], *wanted, "{sent}");
    }
    for sent in [r#"{"s":"\ud83d"}"#, r#"{"s":"\ude00"}"#, r#"{"s":"\ude00\ud83d"}"#, r#"{"s":"\ud83dx"}"#] {
        let error = accept(&signature, sent, RepairMode::Json).unwrap_err();
        assert!(error.contains("line 1 column") && error.contains("both halves"), "{sent}: {error}");
    }
    for (sent, fits) in
        [("😀", true), ("a", true), ("\0", true), ("e\u{301}", false), ("", false), ("ab", false)]
    {
        assert_eq!(accept_value(&signature, json!({"c": sent})).is_ok(), fits, "{sent:?}");
    }
}

#[test]
fn broken_text_is_an_error_with_its_place_and_never_an_empty_object() {
    let signature = plain("f: func(path: option<string>);");
    for (text, says) in [
        ("{", "EOF while parsing an object at line 1 column 1; the text ends early"),
        (r#"{"path":"a""#, "EOF while parsing an object at line 1 column 11; the text ends early"),
        (r#"{"path":"a",}"#, "trailing comma at line 1 column 13; remove the comma"),
        (
            "```json\n{\"path\":\"a\"}\n```",
            "expected value at line 1 column 1; send the object without a code fence",
        ),
        ("{'path':'a'}", "key must be a string at line 1 column 2; use double quotes"),
        ("{\n// a\n}", "key must be a string at line 2 column 1; leave out comments"),
        (r#"{"path":"a"}{"path":"b"}"#, "trailing characters at line 1 column 13; send exactly one object"),
        (r#"{"path":"a","path":"/etc/x"}"#, "duplicate key `path` at line 1 column 18; give each key once"),
        (r#"{"path":NaN}"#, "expected value at line 1 column 9; JSON has no such number"),
        (
            r#"{"path":1e400}"#,
            "number out of range at line 1 column 13; write a number that a double can hold",
        ),
        (r#"["a"]"#, "the arguments must be one JSON object, not array"),
        ("5", "the arguments must be one JSON object, not integer"),
        ("true", "the arguments must be one JSON object, not boolean"),
        (r#""x""#, "the arguments must be one JSON object, not string"),
        (r#""[1]""#, "the arguments must be one JSON object, not string"),
        ("\u{feff}{}", "expected value at line 1 column 1"),
        (r#"{"path":"a"}x"#, "trailing characters"),
    ] {
        let error = accept(&signature, text, RepairMode::Decode).unwrap_err();
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn broken_text_is_mended_only_on_request_and_with_a_note() {
    let signature = plain("record point { x: u32 } f: func(path: option<string>, p: option<point>);");
    for text in [r#"{"path":"a",}"#, "```json\n{\"path\":\"a\"}\n```", "{'path':'a'}"] {
        let (value, repairs) = accept(&signature, text, RepairMode::Json).unwrap();
        assert_eq!(value, json!({"path": "a"}));
        assert_eq!(repairs, [Repair::new("", "broken JSON text", "object")]);
    }
    let sent = json!({"p": "{'x': 1,}", "path": "{'x': 1,}"});
    let (value, repairs) = accept(&signature, &sent.to_string(), RepairMode::Json).unwrap();
    assert_eq!(value, json!({"p": {"x": 1}, "path": "{'x': 1,}"}));
    assert_eq!(repairs, [Repair::new("/p", "string", "object")]);
    assert!(accept_value(&signature, sent).is_err());
    for text in ["{", r#"{"path":"a""#, r#"{"path":"a","path":"b",}"#, r#"{"path":"a"}{}"#, "[1,]"] {
        assert!(accept(&signature, text, RepairMode::Json).is_err(), "{text}");
    }
}

#[test]
fn documented_forms_become_the_canonical_one() {
    let signature = plain(
        "variant mode { off, by-hand, level(u64) } enum color { red, dark-blue } flags perms { read, write-all }
        f: func(b: option<list<u8>>, m: option<mode>, c: option<color>, p: option<perms>, t: option<tuple<u8, string>>,
            o: option<option<u64>>, r: option<result<u64, string>>, u: option<result>);",
    );
    for (sent, wanted) in [
        (json!({"b": [104, 105]}), json!({"b": "aGk="})),
        (json!({"b": []}), json!({"b": ""})),
        (json!({"b": "aGk="}), json!({"b": "aGk="})),
        (json!({"m": "off"}), json!({"m": {"tag": "off"}})),
        (json!({"m": "by-hand"}), json!({"m": {"tag": "by_hand"}})),
        (json!({"m": {"tag": "by-hand"}}), json!({"m": {"tag": "by_hand"}})),
        (json!({"m": {"tag": "level", "val": "12"}}), json!({"m": {"tag": "level", "val": 12}})),
        (json!({"c": "dark-blue"}), json!({"c": "dark_blue"})),
        (json!({"p": {"read": false, "write-all": true}}), json!({"p": ["write_all"]})),
        (json!({"p": ["write-all", "read"]}), json!({"p": ["read", "write_all"]})),
        (json!({"t": [5.0, "a"]}), json!({"t": [5, "a"]})),
        (json!({"o": {"some": "5"}}), json!({"o": {"some": 5}})),
        (json!({"o": {"some": null}}), json!({"o": {"some": null}})),
        (json!({"r": {"ok": "5"}}), json!({"r": {"ok": 5}})),
        (json!({"u": {"err": null}}), json!({"u": {"err": null}})),
    ] {
        let (value, _) = accept(&signature, &sent.to_string(), RepairMode::Off).unwrap();
        assert_eq!(value, wanted, "{sent}");
    }
    for sent in [
        json!({"b": [256]}),
        json!({"b": ["1"]}),
        json!({"b": "aGk"}),
        json!({"b": "aGl="}),
        json!({"b": "not base64"}),
        json!({"b": "[104,105]"}),
        json!({"m": "level"}),
        json!({"m": {"tag": "off", "val": 1}}),
        json!({"m": {"tag": "level"}}),
        json!({"m": {"tag": "off", "x": 1}}),
        json!({"m": {"val": 1}}),
        json!({"c": "Red"}),
        json!({"p": {"read": 1}}),
        json!({"p": {"read": true, "x": true}}),
        json!({"p": ["read", "read"]}),
        json!({"t": [5]}),
        json!({"o": 5}),
        json!({"o": {"some": 5, "x": 1}}),
        json!({"r": {"ok": 5, "err": "x"}}),
        json!({"r": {}}),
        json!({"u": {"ok": 1}}),
    ] {
        assert!(accept(&signature, &sent.to_string(), RepairMode::Decode).is_err(), "{sent}");
    }
}

#[test]
fn an_unknown_word_is_told_with_the_allowed_ones() {
    let signature = plain("enum method { GET, post } f: func(method: method);");
    assert_eq!(accept_value(&signature, json!({"method": "GET"})), Ok(json!({"method": "get"})));
    assert_eq!(
        accept_value(&signature, json!({"method": "gte"})),
        Err("/method: expected one of `get`, `post`, got string \"gte\" (did you mean `get`?)".to_owned())
    );
}

#[test]
fn wrong_values_are_repeated_briefly_and_secrets_never() {
    let docs = json!({"params": {
        "token": {"secret": true, "pattern": "^t-[0-9]+$"}, "inner": {"secret": true}, "text": {"pattern": "^[a-z]*$"}
    }});
    let signature = read(
        "record inner { key: string } f: func(token: option<string>, inner: option<inner>, text: option<string>);",
        &docs,
        &json!({}),
    )
    .unwrap();
    for arguments in [
        json!({"token": "hunter2"}),
        json!({"token": ["hunter2"]}),
        json!({"token": {"hunter2": 1}}),
        json!({"inner": {"key": ["hunter2"]}}),
        json!({"inner": {"hunter2": 1}}),
        json!({"inner": "hunter2"}),
    ] {
        let message = accept_value(&signature, arguments.clone()).unwrap_err();
        assert!(!message.contains("hunter2"), "{arguments}: {message}");
    }
    let long = accept_value(&signature, json!({"text": "\u{1b}A".repeat(5 << 20)})).unwrap_err();
    assert!(long.len() < 120 && !long.contains('\u{1b}'), "{long}");
    let unknown = accept_value(&signature, json!({"k".repeat(5 << 20): 1})).unwrap_err();
    assert!(unknown.len() < 300, "{unknown}");
}

#[test]
fn defaults_are_filled_in_for_hooks_and_guest_alike() {
    let docs = json!({"params": {
        "limit": {"default": 10, "minimum": 1, "maximum": 100}, "mode": {"default": "by-line"}, "note": {"default": "-"}
    }});
    let items = "enum mode { by-line, by-byte } f: func(limit: u32, mode: mode, note: option<string>);";
    let signature = read(items, &docs, &json!({})).unwrap();
    assert!(signature.takes_nothing());
    for (sent, wanted) in [
        (json!({}), json!({"limit": 10, "mode": "by_line", "note": "-"})),
        (json!({"limit": null}), json!({"limit": 10, "mode": "by_line", "note": "-"})),
        (json!({"note": null, "limit": 1}), json!({"limit": 1, "mode": "by_line", "note": null})),
    ] {
        assert_eq!(accept_value(&signature, sent.clone()), Ok(wanted), "{sent}");
    }
    assert_eq!(
        accept_value(&signature, json!({"limit": 101})),
        Err("/limit: expected integer from 1 to 100, got 101".to_owned())
    );
    let lowered = super::super::lower(&signature, &json!({})).unwrap();
    let filled = accept_value(&signature, json!({})).unwrap();
    assert_eq!(lowered, super::super::lower(&signature, &filled).unwrap());
}

#[test]
fn one_record_parameter_is_flattened() {
    let items = "record query { max-hits: u32 } type alias = query;";
    let flat = plain(&format!("{items} f: func(query: alias);"));
    assert!(flat.is_flattened());
    assert_eq!(accept_value(&flat, json!({"max_hits": 3})), Ok(json!({"max_hits": 3})));
    for other in ["f: func(query: option<query>);", "f: func(query: query, n: option<u8>);"] {
        let signature = plain(&format!("{items} {other}"));
        assert!(!signature.is_flattened());
        assert!(accept_value(&signature, json!({"query": {"max_hits": 3}})).is_ok());
    }
}

#[test]
fn secrets_are_hidden_where_arguments_are_shown() {
    let items = "record login { user: string, pass: string } variant auth { none, token(string), login(login) }
        f: func(login: login, auth: auth, logins: list<login>, maybe: option<option<login>>, key: string, plain: string);";
    let docs = json!({"params": {"key": {"secret": true}}});
    let types = json!({
        "test:types/api@1.0.0#login": {"members": {"pass": {"secret": true}}},
        "test:types/api@1.0.0#auth": {"members": {"token": {"secret": true}}}
    });
    let signature = read(items, &docs, &types).unwrap();
    let login = json!({"user": "u", "pass": "hunter2"});
    let hidden = json!({"user": "u", "pass": "[secret]"});
    for (sent, shown) in [
        (json!({"key": "hunter2", "plain": "p", "x": 1}), json!({"key": "[secret]", "plain": "p", "x": 1})),
        (
            json!({"login": login, "logins": [login, "hunter2"]}),
            json!({"login": hidden, "logins": [hidden, "[secret]"]}),
        ),
        (json!({"login": login.to_string()}), json!({"login": "[secret]"})),
        (json!({"maybe": {"some": login}}), json!({"maybe": {"some": hidden}})),
        (json!({"maybe": null}), json!({"maybe": null})),
        (
            json!({"auth": {"tag": "token", "val": "hunter2"}}),
            json!({"auth": {"tag": "token", "val": "[secret]"}}),
        ),
        (json!({"auth": {"tag": "login", "val": login}}), json!({"auth": {"tag": "login", "val": hidden}})),
        (
            json!({"auth": {"tag": "hunter2", "val": 1}}),
            json!({"auth": {"tag": "[secret]", "val": "[secret]"}}),
        ),
        (json!({"auth": "hunter2"}), json!({"auth": "[secret]"})),
        (json!("hunter2"), json!("[secret]")),
        (json!(["hunter2"]), json!("[secret]")),
    ] {
        assert_eq!(without_secrets(&signature, &sent), shown, "{sent}");
    }
    assert_eq!(without_secrets(&plain("f: func(a: u8);"), &json!("x")), json!("x"));
}
