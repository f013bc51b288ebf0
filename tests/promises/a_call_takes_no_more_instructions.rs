//! A call takes no more instructions than it did: counted by valgrind's callgrind, which no other load disturbs, and
//! beside those of the bare engine in the same process, so that another compiler changes both.

use std::process::Command;

use serde_json::json;
use toolcell::format::Strict;
use toolcell::sandbox::Allocation;
use toolcell::{Format, Runtime, ToolCall, ToolComponent};
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, Store};

/// Adds, and returns a text.
const COMPONENT: &str = r#"
(component
  (core module $module
    (memory (export "memory") 1)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
    (func (export "add") (param i64 i64) (result i64) (i64.add (local.get 0) (local.get 1)))
    (func (export "echo") (param i32 i32) (result i32)
      (i32.store (i32.const 0) (local.get 0))
      (i32.store (i32.const 4) (local.get 1))
      (i32.const 0)))
  (core instance $instance (instantiate $module))
  (func (export "add") (param "a" s64) (param "b" s64) (result s64)
    (canon lift (core func $instance "add")))
  (func (export "echo") (param "text" string) (result string)
    (canon lift (core func $instance "echo")
      (memory $instance "memory") (realloc (func $instance "realloc")))))
"#;

/// Says to [`the_work_that_is_counted`] what to do.
const WORK: &str = "TOOLCELL_TESTS_COUNTED";

/// How often it is done.
const TIMES: usize = 200;

/// What each takes in units of the bare engine's instance and call, when this was last looked at.
const KNOWN: [(&str, f64); 3] = [("add", 2.087), ("echo", 1.738), ("list", 3.533)];

/// How much more it may be.
const ALLOWED: f64 = 1.05;

/// wasmtime and nothing else. Memory is mapped call by call: a pool does not fit what callgrind leaves of the address
/// space.
struct Bare {
    pre: InstancePre<()>,
}

impl Bare {
    fn new() -> Self {
        let mut config = Config::new();
        config.consume_fuel(true).concurrency_support(false);
        config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
        let engine = Engine::new(&config).unwrap();
        let component = Component::new(&engine, wat::parse_str(COMPONENT).unwrap()).unwrap();
        Self { pre: Linker::new(&engine).instantiate_pre(&component).unwrap() }
    }

    async fn call(&self) {
        let mut store = Store::new(self.pre.engine(), ());
        store.set_fuel(100_000_000_000).unwrap();
        store.fuel_async_yield_interval(Some(1_000_000)).unwrap();
        let instance = self.pre.instantiate_async(&mut store).await.unwrap();
        let add = instance.get_typed_func::<(i64, i64), (i64,)>(&mut store, "add").unwrap();
        assert_eq!(add.call_async(&mut store, (2, 3)).await.unwrap().0, 5);
    }
}

async fn called(runtime: &Runtime, call: ToolCall) {
    let outcome = runtime.call(call).await;
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
}

/// Only what happens in here is counted. Neither generic nor with a function of its own: callgrind knows it by name.
#[inline(never)]
fn measured(work: &mut dyn FnMut()) {
    for _ in 0..TIMES {
        work();
    }
}

#[test]
#[ignore = "the work of the other test, done under callgrind"]
fn the_work_that_is_counted() {
    let work = std::env::var(WORK).unwrap();
    let executor = tokio::runtime::Builder::new_current_thread().build().unwrap();
    if work == "bare" {
        let bare = Bare::new();
        executor.block_on(bare.call());
        return measured(&mut || executor.block_on(bare.call()));
    }
    let component = ToolComponent::bytes("work", wat::parse_str(COMPONENT).unwrap());
    let runtime =
        Runtime::builder().allocation(Allocation::OnDemand).component(component).build_blocking().unwrap();
    let call = match work.as_str() {
        "add" => ToolCall::new("add", json!({ "a": 2, "b": 3 })),
        "echo" => ToolCall::new("echo", json!({ "text": "x".repeat(1 << 10) })),
        _ => {
            assert_eq!(work, "list");
            return measured(&mut || {
                let listed = Format::Mcp.export(&runtime.list(), Strict::Off).tools;
                assert_eq!(listed.as_array().map(Vec::len), Some(2));
            });
        }
    };
    executor.block_on(called(&runtime, call.clone()));
    measured(&mut || executor.block_on(called(&runtime, call.clone())));
}

/// The instructions of one time.
fn instructions(work: &str) -> f64 {
    let named = format!("{}::the_work_that_is_counted", module_path!().split_once("::").unwrap().1);
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no"])
        .arg("--toggle-collect=*a_call_takes_no_more_instructions::measured*")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &named, "--ignored", "--nocapture"])
        .env(WORK, work)
        .output()
        .unwrap_or_else(|error| panic!("valgrind counts the instructions, and does not run: {error}"));
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{work}: {said}");
    let line = said.lines().find_map(|line| line.split_once("Collected : ")).unwrap();
    let count: f64 = line.1.trim().parse().unwrap();
    assert!(count > 0.0, "nothing was counted: {said}");
    count / TIMES as f64
}

#[test]
fn a_call_takes_no_more_instructions_than_it_did() {
    let bare = instructions("bare");
    let counted = KNOWN.map(|(work, known)| (work, known, instructions(work) / bare));
    #[expect(clippy::print_stdout, reason = "the figures are worth reading in a passing run as well")]
    let () = println!("in units of the bare engine's {bare:.0} instructions: {counted:.3?}");
    for (work, known, ratio) in counted {
        assert!(
            ratio <= known * ALLOWED,
            "{work} takes {ratio:.3} times the instructions of the bare engine, {known:.3} before"
        );
    }
}
