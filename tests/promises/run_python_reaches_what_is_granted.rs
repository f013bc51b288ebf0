//! `run_python` runs what a model writes: it gives its value, reaches the files that are granted, and ends within its limits.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcell::config::Folders;
use toolcell::policy::{DirGrant, StateScope};
use toolcell::{
    Access, Content, ErrorKind, Grant, Limits, Outcome, Runtime, Status, ToolCall, ToolComponent,
};
use toolcell_tests::command_line::{CommandLine, binary, ended};
use toolcell_tests::{block_on, builder, built, call, python};

fn running(grant: Grant, limits: Limits) -> Runtime {
    built(builder().component(ToolComponent::file(python()).grant(grant).limits(limits)))
}

/// With nothing granted.
fn bare() -> Runtime {
    running(Grant::none(), Limits::new())
}

async fn run(runtime: &Runtime, code: &str) -> Outcome {
    call(runtime, "run_python", json!({ "code": code })).await
}

fn message(outcome: &Outcome) -> &str {
    &outcome.error.as_ref().unwrap_or_else(|| panic!("{outcome:?}")).message
}

/// What a model reads.
fn shown(outcome: &Outcome) -> String {
    let blocks = outcome.content.iter().map(|block| match block {
        Content::Text { text } => text.clone(),
        Content::Json { json } => json.to_string(),
        other => panic!("{other:?}"),
    });
    blocks.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn the_value_is_data_and_what_is_printed_is_text() {
    let runtime = bare();
    let outcome = run(&runtime, "print('a', {1: 2})\n[1, {'c': ('d', None)}]").await;
    let value = json!([1, { "c": ["d", null] }]);
    assert_eq!(outcome.structured, Some(json!({ "value": value, "console": "a {1: 2}\n" })));
    let expected = [Content::Text { text: "a {1: 2}".into() }, Content::Json { json: value }];
    assert_eq!(outcome.content, expected);
    for (code, text, structured) in [
        ("'a text'", "a text", json!({ "value": "a text" })),
        ("a = 1", "None", json!({})),
        ("", "None", json!({})),
        ("print(1)", "1", json!({ "value": null, "console": "1\n" })),
        ("None", "None", json!({ "value": null })),
        ("exit(0)", "None", json!({})),
        ("'\\ud800'", "\u{fffd}", json!({ "value": "\u{fffd}" })),
        (
            "import sys; sys.stdout.buffer.write(b'b'); print('e', file=sys.stderr)",
            "be",
            json!({ "value": null, "console": "be\n" }),
        ),
        ("import asyncio\nawait asyncio.sleep(0.01, 7)", "7", json!({ "value": 7 })),
        ("async def main(): return 8\nmain()", "8", json!({ "value": 8 })),
    ] {
        let outcome = run(&runtime, code).await;
        assert!(outcome.is_success(), "{code}: {outcome:?}");
        assert_eq!(outcome.structured, Some(structured), "{code}");
        assert_eq!(shown(&outcome), text, "{code}");
    }
    // Nothing of one call is there in the next.
    assert!(run(&runtime, "import builtins\nbuiltins.left = left = 1").await.is_success());
    assert!(message(&run(&runtime, "left").await).contains("NameError: name 'left' is not defined"));
}

#[tokio::test]
async fn what_json_has_not_is_said_in_words() {
    let runtime = bare();
    for (code, value) in [
        ("2 ** 53", json!("9007199254740992")),
        ("-(2 ** 53 - 1)", json!(-9_007_199_254_740_991_i64)),
        ("[float('nan'), float('-inf'), 0.5]", json!(["NaN", "-Infinity", 0.5])),
        ("{'b', 'a'}, range(2), {'k': 1}.values()", json!([["a", "b"], [0, 1], [1]])),
        ("{1: 'a', (1, 2): 'b', None: 'c'}", json!({ "1": "a", "(1, 2)": "b", "None": "c" })),
        ("{1: 'a', '1': 'b'}", json!([[1, "a"], ["1", "b"]])),
        (
            "import datetime as d\n[d.date(2020, 1, 2), d.datetime.strptime('2020', '%Y')]",
            json!(["2020-01-02", "2020-01-01T00:00:00"]),
        ),
        (
            "from decimal import Decimal\nfrom pathlib import Path\n[Decimal('1.50'), Path('a')]",
            json!(["1.50", "a"]),
        ),
        ("import dataclasses\n@dataclasses.dataclass\nclass P:\n  x: int\nP(1)", json!({ "x": 1 })),
        ("import enum\nclass E(enum.StrEnum):\n  A = 'a'\nE.A", json!("a")),
        ("b'ab'", json!("b'ab'")),
        ("len", json!("<built-in function len>")),
        ("len(str(2 ** 100_000))", json!(30_103)),
    ] {
        let outcome = run(&runtime, code).await;
        assert!(outcome.is_success(), "{code}: {outcome:?}");
        assert_eq!(outcome.structured.unwrap()["value"], value, "{code}");
    }
    for (code, told) in [
        ("a = []\na.append(a)\na", "contains itself"),
        ("a = []\nfor _ in range(200): a = [a]\na", "nested more than 100 deep"),
        ("'x' * 100_000_000", "too large for the memory"),
    ] {
        assert!(message(&run(&runtime, code).await).contains(told), "{code}");
    }
}

#[tokio::test]
async fn an_error_names_the_line_and_keeps_what_was_printed() {
    let runtime = bare();
    let outcome = run(&runtime, "print('before')\ndef f(a):\n  return a.b.c\nf({})").await;
    assert_eq!((outcome.status, outcome.error_kind()), (Status::Error, Some(ErrorKind::ToolError)));
    assert!(outcome.text().starts_with("before\nTraceback "), "{}", outcome.text());
    let expected = concat!(
        "Traceback (most recent call last):\n",
        "  File \"code.py\", line 4, in <module>\n    f({})\n    ~^^^^\n",
        "  File \"code.py\", line 3, in f\n    return a.b.c\n           ^^^\n",
        "AttributeError: 'dict' object has no attribute 'b'",
    );
    assert_eq!(message(&outcome), expected);
    for (code, told) in [
        ("a = 1\nb = = 2", "  File \"code.py\", line 2\n    b = = 2\n        ^\nSyntaxError: invalid syntax"),
        ("return 1", "SyntaxError: 'return' outside function\nA program has no `return`"),
        ("if True:\nx", "IndentationError: expected an indented block after 'if' statement on line 1"),
        ("'open", "SyntaxError: unterminated string literal"),
        ("import sys\nsys.exit(3)", "the program exited with code 3"),
        ("raise SystemExit('enough')", "enough"),
        ("def f(): return f()\nf()", "RecursionError: maximum recursion depth exceeded"),
        (
            "import json\njson.loads('{')",
            "line 2, in <module>\n    json.loads('{')\n    ~~~~~~~~~~^^^^^\njson.decoder.JSONDecodeError: ",
        ),
        ("raise BaseException('b')", "BaseException: b"),
        ("import asyncio\nawait asyncio.Future()", "the program waits for something that nothing settles"),
        ("import numpy", "No module named 'numpy'\nThere are Python's standard library"),
        (
            "try:\n  1 / 0\nexcept Exception as error:\n  raise KeyError(1) from error",
            "direct cause of the following exception",
        ),
    ] {
        let outcome = run(&runtime, code).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::ToolError), "{code}: {outcome:?}");
        assert!(message(&outcome).contains(told), "{code}: {}", message(&outcome));
        assert!(!message(&outcome).contains("/python/"), "{code}: {}", message(&outcome));
    }
}

#[tokio::test]
async fn the_library_is_there() {
    let runtime = bare();
    for (code, value) in [
        (
            "import functools\n@functools.lru_cache(None)\ndef f(n): return n if n < 2 else f(n - 1) + f(n - 2)\nf(900) % 1000",
            json!(800),
        ),
        ("import sqlite3\nc = sqlite3.connect(':memory:')\nc.execute('select 1 + 1').fetchone()", json!([2])),
        (
            "from zoneinfo import ZoneInfo\nimport datetime\nstr(datetime.datetime(2026, 7, 1, tzinfo=ZoneInfo('Europe/Oslo')))",
            json!("2026-07-01 00:00:00+02:00"),
        ),
        (
            "import hashlib, gzip\nhashlib.md5(gzip.decompress(gzip.compress(b'a'))).hexdigest()",
            json!("0cc175b9c0f1b6a831c399e269772661"),
        ),
        ("import xml.etree.ElementTree as tree\ntree.fromstring('<a><b/></a>')[0].tag", json!("b")),
        ("import csv, io\nlist(csv.DictReader(io.StringIO('a,b\\n1,2')))", json!([{ "a": "1", "b": "2" }])),
        (
            "import asyncio, concurrent.futures, unittest.mock, email.message, logging.handlers, urllib.parse\n1",
            json!(1),
        ),
    ] {
        let outcome = run(&runtime, code).await;
        assert!(outcome.is_success(), "{code}: {outcome:?}");
        assert_eq!(outcome.structured.unwrap()["value"], value, "{code}");
    }
}

/// The interpreter's memory is that of its build, and what it knows of chance and time must not be.
#[tokio::test]
async fn chance_and_time_are_those_of_the_call() {
    let runtime = bare();
    let code = "import random, uuid, secrets, time, os\n\
                [random.random(), uuid.uuid4(), secrets.token_hex(8), os.urandom(4).hex(), random.SystemRandom().random(), time.time_ns()]";
    let value = async || run(&runtime, code).await.structured.unwrap()["value"].as_array().unwrap().clone();
    let (first, second) = (value().await, value().await);
    assert_eq!(first.len(), 6);
    assert!(first.iter().zip(&second).all(|(first, second)| first != second), "{first:?} {second:?}");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
    let outcome = run(&runtime, "import time\ntime.time()").await;
    let told = outcome.structured.unwrap()["value"].as_f64().unwrap();
    assert!((told - now).abs() < 60.0, "{told} {now}");
}

#[tokio::test]
async fn files_are_those_of_the_grant() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("secrets")).unwrap();
    fs::write(folder.path().join("secrets/key"), "k").unwrap();
    fs::write(folder.path().join("a.txt"), "abc").unwrap();
    fs::write(folder.path().join("helper.py"), "def half(n):\n  return n / 0\n").unwrap();
    std::os::unix::fs::symlink("/etc", folder.path().join("out")).unwrap();
    let granted = |access| {
        let grant = DirGrant::new(folder.path(), "/work", access).deny("secrets/**");
        running(Grant::none().dir_grant(grant), Limits::new())
    };
    let writing = granted(Access::ReadWrite);
    // What is not closed is written nevertheless.
    let code = "f = open('b.txt', 'w'); f.write(open('a.txt').read() + 'd'); None";
    assert!(run(&writing, code).await.is_success());
    assert_eq!(fs::read(folder.path().join("b.txt")).unwrap(), b"abcd");
    let code = "import os, pathlib, shutil\nos.makedirs('n/m'); shutil.copy('b.txt', 'n/m/c'); os.rename('n/m/c', 'n/c'); os.rmdir('n/m')\n\
                [os.getcwd(), os.listdir('n'), pathlib.Path('/work/n/c').read_text(), os.path.exists('/etc')]";
    let outcome = run(&writing, code).await;
    assert_eq!(outcome.structured.unwrap()["value"], json!(["/work", ["c"], "abcd", false]));
    let own = run(&writing, "import helper\nhelper.half(1)").await;
    assert!(
        message(&own).contains("File \"/work/helper.py\", line 2, in half\n    return n / 0\n"),
        "{own:?}"
    );
    assert!(!folder.path().join("__pycache__").exists());
    let ways = [
        "open('/etc/passwd')",
        "open('../../etc/passwd')",
        "open('out/passwd')",
        "open('secrets/key')",
        "open('secrets/key', 'w')",
        "os.rename('secrets', 'public')",
        "shutil.copy('secrets/key', 'copy')",
        "os.listdir('/')",
        "os.chdir('/etc')",
        "os.symlink('/etc', 'more')",
        "pathlib.Path('/etc/passwd').read_text()",
        "next(os.scandir('out'))",
        "open('/python/lib/python3.14/os.py')",
        "open('/tmp/x', 'w')",
    ];
    for way in ways {
        let outcome = run(&writing, &format!("import os, pathlib, shutil\n{way}")).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::ToolError), "{way}: {outcome:?}");
        assert!(message(&outcome).contains("not permitted"), "{way}: {}", message(&outcome));
        assert!(message(&outcome).contains("PermissionError: [Errno 63] "), "{way}: {}", message(&outcome));
    }
    assert_eq!(fs::read(folder.path().join("secrets/key")).unwrap(), b"k");
    assert!(!folder.path().join("more").exists());
    let reading = granted(Access::Read);
    for way in ["open('a.txt', 'w')", "os.remove('a.txt')", "os.mkdir('n2')", "open('a.txt', 'a')"] {
        let outcome = run(&reading, &format!("import os\n{way}")).await;
        assert!(
            message(&outcome).contains("not permitted: its folder is granted for reading only"),
            "{way}: {outcome:?}"
        );
        assert!(!outcome.denials.is_empty(), "{way}");
    }
    assert_eq!(fs::read(folder.path().join("a.txt")).unwrap(), b"abc");
    let none = run(&bare(), "try:\n  open('a.txt')\nexcept PermissionError as error:\n  print(error)").await;
    assert_eq!(shown(&none), "[Errno 63] not permitted, no directory is granted to this tool: 'a.txt'");
}

#[tokio::test]
async fn there_is_no_other_way_out() {
    let runtime = bare();
    for (code, told) in [
        (
            "import socket\nsocket.create_connection(('127.0.0.1', 80))",
            "not permitted: this tool has no network",
        ),
        ("import socket\nsocket.getaddrinfo('example.org', 80)", "not permitted: this tool has no network"),
        ("import _socket\n_socket.socket()", "not permitted: this tool has no network"),
        (
            "import urllib.request\nurllib.request.urlopen('http://example.org')",
            "not permitted: this tool has no network",
        ),
        ("import os\nos.system('id')", "not permitted: this tool has no processes"),
        ("import os\nos.popen('id')", "not permitted: this tool has no processes"),
        ("import subprocess\nsubprocess.run(['id'])", "not permitted: this tool has no processes"),
        ("import multiprocessing", "no threads and no other processes"),
        ("import os\nos.fork()", "has no attribute 'fork'"),
        ("import os\nos.kill(1, 9)", "has no attribute 'kill'"),
        ("import ctypes", "No module named 'ctypes'"),
        ("import _ctypes", "No module named '_ctypes'"),
        ("import mmap", "No module named 'mmap'"),
        (
            "import threading\nthreading.Thread(target=print).start()",
            "not permitted: this tool has no threads",
        ),
        (
            "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor().submit(print)",
            "not permitted: this tool has no threads",
        ),
        ("input()", "EOFError"),
        ("state['x'] = 1", "there is no `state` here"),
        ("from wit_world.imports import store\nstore.open('state').get('x')", "Error_AccessDenied"),
    ] {
        let outcome = run(&runtime, code).await;
        assert_eq!(outcome.error_kind(), Some(ErrorKind::ToolError), "{code}: {outcome:?}");
        assert!(message(&outcome).contains(told), "{code}: {}", message(&outcome));
    }
    let seen = "import os, sys\n[dict(os.environ), sys.argv, sys.path, os.path.exists('/')]";
    assert_eq!(run(&runtime, seen).await.structured.unwrap()["value"], json!([{}, ["code.py"], [], false]));
    // Without the interpreter's own refusals, the host's are there.
    let code = "import sys, types\nfrom toolcell_python import refusals\nrefusals._granted = None\n";
    let outcome = run(&runtime, &format!("{code}open('/etc/passwd')")).await;
    assert!(message(&outcome).contains("FileNotFoundError"), "{outcome:?}");
    let outcome = run(&runtime, &format!("{code}import socket\nsocket.socket()")).await;
    assert_eq!(outcome.error_kind(), Some(ErrorKind::CapabilityDenied), "{outcome:?}");
    let named = running(Grant::none().env("LANG", "C"), Limits::new());
    let outcome = run(&named, "import os\ndict(os.environ)").await;
    assert_eq!(outcome.structured.unwrap()["value"], json!({ "LANG": "C" }));
}

#[tokio::test]
async fn members_of_the_state_last_as_long_as_their_session() {
    let home = tempfile::tempdir().unwrap();
    let python = ToolComponent::file(python()).grant(Grant::none().state(StateScope::Session));
    let runtime = built(builder().folders(Folders::under(home.path())).component(python));
    let in_session = async |session: &str, code: &str| {
        runtime.session(session).call(ToolCall::new("run_python", json!({ "code": code }))).await
    };
    let counted = async |session: &str| {
        let code = "state['n'] = state.get('n', 0) + 1\nstate['n']";
        in_session(session, code).await.structured.unwrap()["value"].clone()
    };
    let counts = [counted("one").await, counted("one").await, counted("two").await, counted("one").await];
    assert_eq!(counts, [1, 2, 1, 3].map(Value::from));
    // What fails keeps nothing.
    assert!(message(&in_session("one", "state['n'] = len").await).contains("`state` cannot be kept"));
    assert!(message(&in_session("one", "state['n'] = 9\n1 / 0").await).contains("ZeroDivisionError"));
    assert_eq!(counted("one").await, json!(4));
}

/// Programs that would not end, and the kinds of end that they may have.
const HOSTILE: [(&str, &[ErrorKind]); 33] = [
    ("while True: pass", &[ErrorKind::Timeout]),
    ("while True:\n  try:\n    while True: pass\n  except BaseException: pass", &[ErrorKind::Timeout]),
    ("await __import__('asyncio').sleep(1e9)", &[ErrorKind::Timeout]),
    ("import time\ntime.sleep(1e6)", &[ErrorKind::Timeout]),
    ("exec('while True: pass')", &[ErrorKind::Timeout]),
    ("import re\nre.match('(a+)+$', 'a' * 40 + 'b')", &[ErrorKind::Timeout]),
    ("10 ** 10 ** 10", &[ErrorKind::Timeout, ErrorKind::ToolError]),
    ("import itertools\nsum(itertools.count())", &[ErrorKind::Timeout]),
    ("class A:\n  def __del__(self):\n    while True: pass\nA()\n1", &[ErrorKind::Timeout]),
    ("class A:\n  def __repr__(self):\n    while True: pass\nA()", &[ErrorKind::Timeout]),
    ("import atexit\ndef f():\n  while True: pass\natexit.register(f)\n1", &[ErrorKind::Timeout]),
    (
        "import gc\ngc.disable()\nwhile True:\n  a = []\n  a.append(a)",
        &[ErrorKind::Timeout, ErrorKind::ToolError, ErrorKind::MemoryLimit],
    ),
    ("async def f():\n  while True: await __import__('asyncio').sleep(0)\nawait f()", &[ErrorKind::Timeout]),
    ("s = 'x'\nwhile True: s += s", &[ErrorKind::ToolError, ErrorKind::Timeout, ErrorKind::MemoryLimit]),
    (
        "a = []\nwhile True: a.append(bytearray(10 ** 6))",
        &[ErrorKind::ToolError, ErrorKind::Timeout, ErrorKind::MemoryLimit],
    ),
    ("[0] * 10 ** 9", &[ErrorKind::ToolError, ErrorKind::Timeout]),
    ("bytearray(10 ** 15)", &[ErrorKind::ToolError]),
    (
        "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(): return f()\nf()",
        &[ErrorKind::StackOverflow, ErrorKind::ToolError, ErrorKind::Timeout],
    ),
    (
        "class A:\n  def __getattr__(self, name): return getattr(self, name)\nA().x",
        &[ErrorKind::StackOverflow, ErrorKind::ToolError],
    ),
    ("def f(x): return max(map(f, [x]))\nf(1)", &[ErrorKind::StackOverflow, ErrorKind::ToolError]),
    ("a = []\nfor _ in range(10 ** 5): a = [a]\nrepr(a)", &[ErrorKind::StackOverflow]),
    ("import json\njson.loads('[' * 10 ** 5)", &[ErrorKind::StackOverflow, ErrorKind::ToolError]),
    ("eval('(' * 10 ** 5)", &[ErrorKind::StackOverflow, ErrorKind::ToolError]),
    ("eval('-' * 10 ** 5 + '1')", &[ErrorKind::StackOverflow, ErrorKind::ToolError]),
    (
        "while True: print('x' * 1000)",
        &[ErrorKind::ResourceLimit, ErrorKind::ResultTooLarge, ErrorKind::Timeout],
    ),
    ("print('x' * 10 ** 8)", &[ErrorKind::ResultTooLarge, ErrorKind::Timeout]),
    ("import os\nos.abort()", &[ErrorKind::Trapped]),
    ("import os\nos._exit(3)", &[ErrorKind::ToolError]),
    ("import signal\nsignal.raise_signal(9)", &[ErrorKind::Trapped, ErrorKind::ToolError]),
    ("import faulthandler\nfaulthandler._sigsegv()", &[ErrorKind::Trapped, ErrorKind::ToolError]),
    (
        "import builtins\nbuiltins.isinstance = builtins.type = None\n1",
        &[ErrorKind::Panicked, ErrorKind::ToolError],
    ),
    ("import sys\nsys.addaudithook(lambda *_: 1 / 0)\n1", &[ErrorKind::Panicked, ErrorKind::ToolError]),
    ("import queue\nqueue.Queue().get()", &[ErrorKind::Trapped, ErrorKind::ToolError, ErrorKind::Timeout]),
];

#[tokio::test]
async fn a_hostile_program_ends_within_the_limits() {
    let runtime = running(Grant::none(), Limits::new().timeout(Duration::from_secs(2)));
    for (code, kinds) in HOSTILE {
        let outcome = run(&runtime, code).await;
        let kind = outcome.error_kind();
        assert!(kind.is_some_and(|kind| kinds.contains(&kind)), "{code}: {outcome:?}");
    }
    assert_eq!(shown(&run(&runtime, "1 + 1").await), "2", "none of it is left");
}

#[tokio::test]
async fn what_was_printed_before_the_end_of_time_is_kept() {
    let runtime = running(Grant::none(), Limits::new().timeout(Duration::from_secs(1)));
    for code in [
        "print('got here')\nwhile True: pass",
        "print('got here')\nf = lambda: 1\nwhile f(): f()",
        "import time\nprint('got here')\ntime.sleep(100)",
        "import asyncio\nprint('got here')\nawait asyncio.sleep(100)",
        "print('got here\\n', flush=True)\nsum(range(10 ** 12))",
    ] {
        let outcome = run(&runtime, code).await;
        assert_eq!((outcome.status, outcome.error_kind()), (Status::Interrupted, Some(ErrorKind::Timeout)));
        assert!(outcome.text().starts_with("got here\n"), "{code}: {outcome:?}");
    }
}

#[test]
fn it_is_found_beside_the_program() {
    let line = CommandLine::new();
    // In the folder of the binary, since a second name needs the same file system.
    let place = tempfile::tempdir_in(binary().parent().unwrap()).unwrap();
    let program = place.path().join("bin/toolcell");
    fs::create_dir_all(place.path().join("lib/toolcell")).unwrap();
    fs::create_dir(place.path().join("bin")).unwrap();
    fs::hard_link(binary(), &program).unwrap();
    let list = |arguments: &[&str]| ended(line.program(&program).args(arguments));
    let missing = list(&["list", "--component", "builtin:python"]);
    assert_eq!(missing.code, 2, "{missing:?}");
    for told in ["builtin:python", "bin/python.wasm", "`make guests-python`", "guest-tools/dist/python.wasm"]
    {
        assert!(missing.stderr.contains(told), "{told}: {}", missing.stderr);
    }
    let library = place.path().join("lib/toolcell/python.wasm");
    fs::hard_link(python(), &library).or_else(|_| fs::copy(python(), &library).map(drop)).unwrap();
    let found = list(&["list", "--component", "builtin:python"]);
    assert!(found.code == 0 && found.stdout.contains("run_python"), "{found:?}");
    assert!(!found.stdout.contains("init"), "what its tool chain exports is no tool: {found:?}");
    // Beside the program comes first.
    fs::write(place.path().join("bin/python.wasm"), "no component").unwrap();
    assert_eq!(list(&["list", "--component", "builtin:python"]).code, 2);
    fs::remove_file(place.path().join("bin/python.wasm")).unwrap();
    // Like any other component's, the file is out of reach of what tools may write.
    let grant =
        format!("[{{ host = \"{}\", guest = \"/w\", access = \"read-write\" }}]", place.path().display());
    line.write(
        "toolcell.toml",
        format!("[component.python]\npath = \"builtin:python\"\ngrant.dirs = {grant}\n"),
    );
    let refused = list(&["list", "--config", "toolcell.toml"]);
    assert!(refused.code == 2 && refused.stderr.contains("python.wasm"), "{refused:?}");
}

#[test]
fn an_interpreter_is_ready_when_it_is_called() {
    const ROUNDS: usize = 25;
    let runtime = bare();
    let js = built(builder().component(ToolComponent::builtin("js")));
    let timed = |runtime: &Runtime, tool: &str| {
        let started = Instant::now();
        let outcome = block_on(call(runtime, tool, json!({ "code": "1 + 1" })));
        assert_eq!(outcome.structured, Some(json!({ "value": 2 })));
        started.elapsed()
    };
    let _compiled = (timed(&runtime, "run_python"), timed(&js, "run_js"));
    let (mut pythons, mut scripts): (Vec<_>, Vec<_>) =
        (0..ROUNDS).map(|_| (timed(&runtime, "run_python"), timed(&js, "run_js"))).unzip();
    pythons.sort();
    scripts.sort();
    let (python, script) = (pythons[ROUNDS / 2], scripts[ROUNDS / 2]);
    #[expect(clippy::print_stdout, reason = "the figure is worth reading in a passing run as well")]
    let () = println!("p50 of `1 + 1`: {python:?} by run_python, {script:?} by run_js");
    // An interpreter that is made anew in each call takes hundreds of milliseconds.
    assert!(python < script * 20, "{python:?} against {script:?}");
}
