//! What programs come to, without a component around them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failing test may panic")]

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
fn what_programs_ask_for_is_as_in_node() {
    let mut others = Vec::new();
    for (program, answer) in [
        (include_str!("node/numbers.js"), include_str!("node/numbers.json")),
        (include_str!("node/dates.js"), include_str!("node/dates.json")),
        (include_str!("node/orders.js"), include_str!("node/orders.json")),
        (include_str!("node/modules.js"), include_str!("node/modules.json")),
        (include_str!("node/paths.js"), include_str!("node/paths.json")),
        (include_str!("node/urls.js"), include_str!("node/urls.json")),
    ] {
        let (_, json) = ran(program);
        let same = format!(
            "const a = {answer}; const b = {}; const others = [];
            (function compare(x, y, at) {{
                if (Array.isArray(x) && Array.isArray(y) && x.length === y.length) x.forEach((_, i) => compare(x[i], y[i], [...at, i]));
                else if (JSON.stringify(x) !== JSON.stringify(y)) others.push([at.join('.'), x, y]);
            }})(a, b, []);
            others",
            json.unwrap().unwrap()
        );
        others.push(ran(&same).1);
    }
    assert!(others.iter().all(|other| *other == Ok(Some("[]".to_owned()))), "{others:?}");
    for (code, json) in [
        (
            "(1).toLocaleString('de-DE')",
            Err("the locale \"de-DE\" of numbers is not known here; \"en\", \"en-US\" are"),
        ),
        ("(1e6).toLocaleString('en', {notation: 'compact'})", Err("notation: \"compact\" is not known here")),
        (
            "(1).toLocaleString('en', {style: 'currency', currency: 'XTS'})",
            Err("the currency \"XTS\" is not known"),
        ),
        ("new Date(0).toLocaleDateString('de-DE')", Err("the locale \"de-DE\" of dates is not known")),
        (
            "new Date(0).toLocaleString('en-US', {timeZone: 'America/New_York'})",
            Err("the time zone \"America/New_York\" is not known here; \"UTC\" is the only one"),
        ),
        (
            "new Date(0).toLocaleDateString('sv-SE', {month: 'long'})",
            Err("how \"sv-SE\" writes { month: long }"),
        ),
        ("'a'.localeCompare('b', 'sv')", Err("the locale \"sv\" of orders is not known")),
        ("require('crypto').createHash('md4')", Err("the digest `md4` is not known here; md5, sha1, sha256")),
        ("crypto.getRandomValues(new Uint8Array(65537))", Err("at most 65536 random bytes")),
        (
            "import { createHash } from 'crypto'; import EventEmitter, { once } from 'events'; typeof createHash + typeof EventEmitter + typeof once",
            Ok("\"functionfunctionfunction\""),
        ),
        (
            "let process = 1, module = 2; var exports = 3; function Buffer() {} process + module + exports",
            Ok("6"),
        ),
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
fn a_program_may_end_itself() {
    for (code, shown, value) in [
        ("console.log('a'); process.exit(); console.log('b')", "a", Ok(None)),
        (
            "try { process.exit(0) } catch { console.log('caught') } finally { console.log('finally') }",
            "",
            Ok(None),
        ),
        ("console.log('a'); process.exit(3)", "a", Err("the program exited with code 3")),
        ("(async () => { await null; process.exit(4) })(); 1", "", Err("code 4")),
        ("await null; process.exit(5)", "", Err("code 5")),
        (
            "Promise.resolve().then(() => process.exit(0)); setTimeout(() => console.log('late')); 1",
            "",
            Ok(None),
        ),
        ("setTimeout(() => process.exit(6)); setInterval(() => {}, 1)", "", Err("code 6")),
        ("new Promise(() => process.exit(7))", "", Err("code 7")),
        ("[1].forEach(() => process.exit(8))", "", Err("code 8")),
        ("process.exitCode = 9; 1", "", Err("code 9")),
        ("process.on('exit', (code) => console.log('bye', code)); process.exit(0)", "bye 0", Ok(None)),
        ("process.on('exit', (code) => console.log('bye', code)); 1", "bye 0", Ok(Some("1"))),
        (
            "process.stdout.write('a'); process.stderr.write('b\\n'); process.stdout.write(Buffer.from('c')); 1",
            "ab\nc",
            Ok(Some("1")),
        ),
    ] {
        let (printed, json) = ran(code);
        assert_eq!(printed, shown, "{code}");
        match value {
            Ok(value) => assert_eq!(json.as_ref().map(Option::as_deref), Ok(value), "{code}"),
            Err(words) => {
                assert!(json.as_ref().is_err_and(|error| error.contains(words)), "{code}: {json:?}")
            }
        }
    }
}

#[test]
fn values_are_printed_as_people_read_them() {
    for (code, shown) in [
        ("{a: [1, {b: 'x'}], 'c-d': null}", "{ a: [ 1, { b: 'x' } ], 'c-d': null }"),
        ("[new Map([[1, {}]]), new Set('a')]", "[ Map(1) { 1 => {} }, Set(1) { 'a' } ]"),
        ("'100%', 1", "100% 1"),
        ("'%s is %d', 'x', 4", "x is 4"),
        ("'%d %j %o', 42.5, {a: 1}, [1]", "42.5 {\"a\":1} [ 1 ]"),
        ("Buffer.from('hi')", "<Buffer 68 69>"),
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
        (
            "const a = 'x';\nlet b = 'y' + \"z;\nb",
            "unterminated string literal at line 2, col 15\n  2 | let b = 'y' + \"z;\n                    ^",
        ),
        ("// it's\n`it's\n'`; 'a\\\nb';\n'open\n1", "unterminated string literal at line 5, col 1"),
        ("eval('\"a')", "unterminated string literal\n    at <main>"),
        (
            "const u = {};\nu.a.b",
            "'undefined' to object: `u.a` is one of these, and `b` of it is read\n    at <main> (code.js:2:5)",
        ),
        ("f()?.x; function f() { return g().y } function g() {}", "to object: `y` of it is read"),
        (
            "1;\n({get x() {\n throw new Error('g') }})",
            "JSON: Error: g\n    at get x (code.js:3:8)\n  3 |  throw new Error('g') }})",
        ),
        ("({toJSON() { throw new Error('t') }})", "  1 | ({toJSON() { throw"),
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
    assert_eq!(ran("fs.mkdirSync('r/s', {recursive: true}); fs.writeFileSync('r/s/t', ''); fs.writeFileSync('r/u', ''); fs.readdirSync('r', {recursive: true}).sort()").unwrap(), r#"["s","s/t","u"]"#);
    assert_eq!(ran("fs.readdirSync('r', {recursive: true, withFileTypes: true}).map(e => [e.parentPath, e.name, e.isFile()])").unwrap(), r#"[["r","s",false],["r/s","t",true],["r","u",true]]"#);
}

#[test]
fn modules_are_loaded_from_files() {
    let dir = tempfile::tempdir().unwrap();
    let ran = |code: &str| {
        let grants = Grants::new([dir.path().display().to_string()]);
        run(code, Rc::new(Paper::default()), grants).map(|answer| answer.json.unwrap_or_default())
    };
    std::fs::create_dir(dir.path().join("lib")).unwrap();
    for (name, text) in [
        ("x.json", "{\"a\": [1]}"),
        (
            "lib/a.js",
            "const b = require('./b'); exports.sum = (...all) => all.reduce((x, y) => x + y, b.start); exports.b = b; exports.name = __filename.slice(-8);",
        ),
        ("lib/b.js", "exports.start = 10; exports.seen = typeof require('./a').sum;"),
        ("lib/bad.js", "const a = 1;\nlet b = = 2;"),
        ("lib/throws.js", "\nmodule.exports = () => null.x;"),
        (
            "lib/esm.js",
            "import { twice } from './other.mjs';\nexport const four = twice(2);\nexport default 'esm';",
        ),
        (
            "lib/other.mjs",
            "import data from '../x.json';\nexport const twice = (n) => n * 2 + data.a[0] - 1;",
        ),
    ] {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    for (code, json) in [
        ("require('./x.json').a", Ok("[1]")),
        ("require('./x') === require('./x.json')", Ok("true")),
        (
            "const a = require('./lib/a'); [a.sum(1, 2), a.b.seen, a.name]",
            Ok(r#"[13,"undefined","lib/a.js"]"#),
        ),
        ("import { sum } from './lib/a.js'; sum(1)", Ok("11")),
        ("import name, { four } from './lib/esm.js'; [name, four]", Ok(r#"["esm",4]"#)),
        ("(await import('./lib/other.mjs')).twice(4)", Ok("8")),
        ("require('./nope')", Err("there is no module `./nope` here: no such file")),
        ("1;\nrequire('./lib/bad')", Err("lib/bad.js: unexpected token '=', primary expression (2:9)")),
        ("1;\nrequire('./lib/throws')()", Err("lib/throws.js:2:")),
    ] {
        match (ran(code), json) {
            (Ok(got), Ok(json)) => assert_eq!(got, json, "{code}"),
            (Err(error), Err(words)) => assert!(error.contains(words), "{code}: {error}"),
            (got, _) => panic!("{code}: {got:?}"),
        }
    }
}
