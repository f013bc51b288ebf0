//! What programs come to, without a component around them.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

use std::cell::RefCell;

use super::*;

#[derive(Default)]
struct Paper {
    shown: RefCell<Vec<String>>,
    state: RefCell<Option<String>>,
}

impl Host for Paper {
    fn show(&self, text: &str) {
        self.shown.borrow_mut().push(text.to_owned());
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), String> {
        std::fs::write(path, bytes).map_err(|error| error.to_string())
    }

    fn state(&self) -> Result<Option<String>, String> {
        Ok(self.state.borrow().clone())
    }

    fn set_state(&self, text: &str) -> Result<(), String> {
        *self.state.borrow_mut() = Some(text.to_owned());
        Ok(())
    }
}

/// What a program prints and the JSON of its value, or its error.
fn ran(code: &str) -> (String, Result<Option<String>, String>) {
    ran_on(&Rc::new(Paper::default()), code)
}

fn ran_on(paper: &Rc<Paper>, code: &str) -> (String, Result<Option<String>, String>) {
    let answer = run(code, Rc::<Paper>::clone(paper), Grants::new([]));
    let shown = paper.shown.borrow().join("\n");
    (shown, answer.map(|answer| answer.json))
}

#[test]
fn a_program_has_the_value_of_its_last_expression() {
    for (code, json) in [
        ("[3, 1, 2].sort().map(n => n ** 2)", "[1,4,9]"),
        ("if (true) { 7 }", "7"),
        ("(async () => { await null; return {a: 1} })()", "{\"a\":1}"),
        ("const r = await Promise.resolve(4);\nr * 2;", "8"),
        ("await null; ['a'].map(x => x + 'b')", "[\"ab\"]"),
        ("await null; [1, 2].length", "2"),
        ("await null; fs.promises === (await import('fs')).promises", "true"),
        ("import fs from 'node:fs'; typeof fs.readFileSync", "\"function\""),
        ("import { promises as p } from 'fs'; p === fs.promises", "true"),
        ("/* 😀 */ await '😀x'", "\"😀x\""),
        ("await null; `a${1}` + \"b\"", "\"a1b\""),
        ("await null; (() => 5)()", "5"),
        ("await null; new Date(0).getTime()", "0"),
        ("await null; Math.max(1, 2) + 1 > 2 ? [1][0] : 0", "1"),
        ("let a; await null; a = 3", "3"),
        ("await null; ({}).x?.y.z ?? 4", "4"),
        ("const o = {a: 1}; await null\no.a++", "1"),
        ("export default 3; await 4", "3"),
        (
            "[new Map([['a', 1]]), new Set([1]), 10n, NaN, new Error('e'), /x/g]",
            r#"[{"a":1},[1],"10","NaN",{"name":"Error","message":"e"},"/x/g"]"#,
        ),
        ("'\\ud800 \\\\ud800'", r#""\ufffd \\ud800""#),
    ] {
        assert_eq!(ran(code).1, Ok(Some(json.to_owned())), "{code}");
    }
    for code in ["", "// nothing", "undefined", "(function () {})", "const a = 1"] {
        assert_eq!(ran(code).1, Ok(None), "{code}");
    }
}

/// What Node (20.20) makes of the same programs, whose value `node -p` would print as JSON.
#[test]
fn paths_and_queries_are_as_in_node() {
    for (program, answer) in [
        (include_str!("node/paths.js"), include_str!("node/paths.json")),
        (include_str!("node/urls.js"), include_str!("node/urls.json")),
    ] {
        let (_, json) = ran(program);
        let same = format!(
            "const a = {answer}; const b = {}; a.map((x, at) => [x, b[at]])\
            .filter(([x, y]) => JSON.stringify(x) !== JSON.stringify(y))",
            json.unwrap().unwrap()
        );
        assert_eq!(ran(&same).1, Ok(Some("[]".to_owned())));
    }
    for (code, json) in [
        ("typeof require('constructor')", Err("there is no module `constructor` here")),
        ("import { join } from 'node:path'; join('a', 'b')", Ok("\"a/b\"")),
        ("await null; (await import('url')).URLSearchParams === URLSearchParams", Ok("true")),
        ("URLSearchParams = 3; URLSearchParams", Ok("3")),
        ("path = require('path'); path.resolve('x')", Ok("\"/x\"")),
    ] {
        match (ran(code).1, json) {
            (Ok(got), Ok(json)) => assert_eq!(got.as_deref(), Some(json), "{code}"),
            (got, Err(words)) => assert!(got.unwrap_err().contains(words), "{code}"),
            (Err(error), Ok(_)) => panic!("{code}: {error}"),
        }
    }
}

#[test]
fn a_program_ends_when_nothing_is_left() {
    let timers = "setTimeout(() => console.log('c'), 20); setTimeout(() => console.log('b')); \
                  const i = setInterval(() => { console.log('i'); clearInterval(i) }, 5); console.log('a')";
    assert_eq!(ran(timers).0, "a\nb\ni\nc");
    assert_eq!(ran("await new Promise(done => setTimeout(done, 5)); 'late'").1, Ok(Some("\"late\"".into())));
    assert_eq!(ran("for await (const x of [1, Promise.resolve(2)]) console.log(x)").0, "1\n2");
    assert!(ran("new Promise(() => {})").1.unwrap_err().contains("nothing settles"));
}

#[test]
fn values_are_printed_as_people_read_them() {
    for (code, shown) in [
        ("{a: [1, {b: 'x'}], 'c-d': null}", "{ a: [ 1, { b: 'x' } ], 'c-d': null }"),
        ("[new Map([[1, {}]]), new Set('a')]", "[ Map(1) { 1 => {} }, Set(1) { 'a' } ]"),
        ("'100%', 1", "100% 1"),
        ("'%s is %d', 'x', 4", "x is 4"),
        ("{f() {}, h: Symbol('s'), i: 1n}", "{ f: [Function: f], h: Symbol(s), i: 1n }"),
        ("new Uint8Array(2)", "Uint8Array(2) [ 0, 0 ]"),
        ("[[[[[[[1]]]]]]]", "[ [ [ [ [ [Array] ] ] ] ] ]"),
        ("Object.assign([1], {}), new Date(0)", "[ 1 ] 1970-01-01T00:00:00.000Z"),
    ] {
        assert_eq!(ran(&format!("console.log({code})")).0, shown, "{code}");
    }
    assert_eq!(ran("const a = {}; a.a = a; console.log(a)").0, "{ a: [Circular] }");
    assert_eq!(
        ran("console.group('g'); console.log([1]); console.groupEnd(); console.log('b')").0,
        "group: g\n  [ 1 ]\nb"
    );
    let (long, _) = ran("console.log(Array.from({length: 200}, (_, i) => 'item ' + i))");
    assert!(long.contains("\n  'item 1',\n") && long.ends_with("\n  ... 100 more\n]"), "{long}");
}

#[test]
fn an_error_has_its_place() {
    for (code, told) in [
        ("const x = 5;\nlet y = = 3;", "at line 2, col 9\n  2 | let y = = 3;\n              ^"),
        ("await 1;\nlet y = = 3;", "at line 2, col 9\n  2 | let y = = 3;"),
        (
            "function f(a) {\n  return a.b.c }\nf({})",
            "at f (code.js:2:14)\n    at <main> (code.js:3:2)\n  2 |   return a.b.c }",
        ),
        ("1;\nnope(3)", "ReferenceError: nope is not defined\n    at <main> (code.js)\n  2 | nope(3)"),
        ("async function f() {\n await 1;\n null.x\n}\nf()", "at f (code.js:3:7)"),
        ("Promise.reject(new TypeError('no')); 1", "TypeError: no\n    at <main> (code.js:1:16)"),
        ("throw {a: 1}", "uncaught: { a: 1 }\n    at <main> (code.js:1:7)"),
        ("Promise.reject('s')", "uncaught: 's'"),
        ("return 5", "A program has no `return`"),
        ("require('lodash')", "Error: there is no module `lodash` here"),
        ("import 'lodash'", "Error: there is no module `lodash` here"),
        ("fetch('https://a.example')", "Error: fetch is not available here"),
        (
            "const a = {}; a.a = a; a",
            "the value of the last expression is no JSON: TypeError: cyclic object value",
        ),
        ("function f() { return f() + 1 } f()", "maximum number of recursive calls"),
        ("fs.readFileSync('x')", "Error: no directory is granted to this tool"),
    ] {
        let error = ran(code).1.unwrap_err();
        assert!(error.contains(told), "{code}: {error}");
    }
}

#[test]
fn members_of_the_state_are_kept() {
    let paper = Rc::new(Paper::default());
    assert_eq!(ran_on(&paper, "1").1, Ok(Some("1".into())));
    assert_eq!(*paper.state.borrow(), None, "a program that does not use it keeps nothing");
    for count in 1..=3 {
        let value = ran_on(&paper, "state.n = (state.n ?? 0) + 1; state.list ??= []; state.n").1;
        assert_eq!(value, Ok(Some(count.to_string())));
    }
    assert_eq!(ran_on(&paper, "var state = 7; state").1, Ok(Some("7".into())));
    assert_eq!(paper.state.borrow().as_deref(), Some("{\"n\":3,\"list\":[]}"));
    assert!(ran_on(&paper, "state.n = 9; throw 1").1.is_err());
    assert_eq!(ran_on(&paper, "state.n").1, Ok(Some("3".into())), "what failed keeps nothing");
}

#[test]
fn files_are_read_and_written() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().display().to_string();
    let ran = |code: &str| {
        run(code, Rc::new(Paper::default()), Grants::new([top.clone()]))
            .map(|answer| answer.json.unwrap_or_default())
    };
    assert_eq!(
        ran("fs.writeFileSync('a.txt', 'é'); fs.appendFileSync('a.txt', '!'); fs.readFileSync('a.txt')")
            .unwrap(),
        "\"é!\""
    );
    assert_eq!(ran("fs.writeFileSync('b', new Uint8Array([255, 0]).subarray(0, 1)); [...fs.readFileSync('b', 'bytes')]").unwrap(), "[255]");
    assert!(ran("fs.readFileSync('b', 'utf8')").unwrap_err().contains("is not UTF-8"));
    assert_eq!(
        ran("fs.mkdirSync('d/e', {recursive: true}); fs.copyFileSync('b', 'd/c'); fs.readdirSync('.')")
            .unwrap(),
        r#"["a.txt","b","d"]"#
    );
    assert_eq!(
        ran("fs.readdirSync('d', {withFileTypes: true}).map(e => [e.name, e.isDirectory()])").unwrap(),
        r#"[["c",false],["e",true]]"#
    );
    assert_eq!(
        ran("[fs.existsSync('b'), fs.existsSync('nope'), fs.statSync('b').size, fs.statSync('d').isFile()]")
            .unwrap(),
        "[true,false,1,false]"
    );
    assert_eq!(ran("await fs.rename('b', 'g'); await fs.rm('d', {recursive: true}); fs.rmSync('zzz', {force: true}); await fs.readdir('.')").unwrap(), r#"["a.txt","g"]"#);
    assert_eq!(
        ran("await new Promise(done => fs.readFile('nope', (error) => done(error.code)))").unwrap(),
        "\"ENOENT\""
    );
    assert!(ran("fs.rmSync('/')").unwrap_err().contains("not permitted"));
}
