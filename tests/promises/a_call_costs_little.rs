//! A call costs little more than what the machine itself asks for an instance of its own: compared by ratio, with
//! runs interleaved, since the machine is shared.

use std::time::{Duration, Instant};

use serde_json::json;
use toolcell::{Outcome, Runtime, ToolCall, ToolComponent};
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store};

/// A component that returns its argument: 11 bytes in, 11 bytes out.
const ECHO: &str = r#"
(component
  (core module $module
    (memory (export "memory") 1)
    (global $next (mut i32) (i32.const 1024))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (local $at i32)
      (local.set $at (global.get $next))
      (global.set $next (i32.add (global.get $next) (local.get 3)))
      (local.get $at))
    (func (export "echo") (param i32 i32) (result i32)
      (i32.store (i32.const 0) (local.get 0))
      (i32.store (i32.const 4) (local.get 1))
      (i32.const 0)))
  (core instance $instance (instantiate $module))
  (func (export "echo") (param "text" string) (result string)
    (canon lift (core func $instance "echo")
      (memory $instance "memory") (realloc (func $instance "realloc")))))
"#;

/// Calls in one run of one subject.
const CALLS: usize = 2_000;

/// Runs of each subject, in turns.
const ROUNDS: usize = 9;

/// What the whole path may cost beside the bare engine: the bound that the project sets itself.
const ALLOWED_RATIO: f64 = 2.5;

/// wasmtime with the sandbox's settings (pool, fuel with yields, no component async) and nothing else.
struct Raw {
    pre: InstancePre<()>,
}

impl Raw {
    fn new() -> wasmtime::Result<Self> {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_component_instances(32).total_core_instances(640).total_memories(64).total_tables(128);
        pool.total_stacks(32).table_elements(20_000).linear_memory_keep_resident(1 << 20);
        pool.table_keep_resident(64 << 10);
        let mut config = Config::new();
        config.consume_fuel(true).concurrency_support(false);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = Engine::new(&config)?;
        let component = Component::new(&engine, wat::parse_str(ECHO).unwrap())?;
        Ok(Self { pre: Linker::new(&engine).instantiate_pre(&component)? })
    }

    async fn call(&self) -> wasmtime::Result<String> {
        let mut store = Store::new(self.pre.engine(), ());
        store.set_fuel(100_000_000_000)?;
        store.fuel_async_yield_interval(Some(1_000_000))?;
        let instance = self.pre.instantiate_async(&mut store).await?;
        let echo = instance.get_typed_func::<(&str,), (String,)>(&mut store, "echo")?;
        Ok(echo.call_async(&mut store, ("hello world",)).await?.0)
    }
}

async fn through_the_runtime(runtime: &Runtime) -> Outcome {
    runtime.call(ToolCall::new("echo", json!({ "text": "hello world" }))).await
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[tokio::test]
async fn at_most_two_and_a_half_times_the_bare_engine() {
    let raw = Raw::new().unwrap();
    let component = ToolComponent::bytes("echo", wat::parse_str(ECHO).unwrap());
    let runtime = Runtime::builder().component(component).build().await.unwrap();
    assert_eq!(raw.call().await.unwrap(), "hello world");
    assert_eq!(through_the_runtime(&runtime).await.text(), "hello world");
    let (mut bare, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        for _ in 0..CALLS {
            let started = Instant::now();
            raw.call().await.unwrap();
            bare.push(started.elapsed());
        }
        for _ in 0..CALLS {
            let started = Instant::now();
            through_the_runtime(&runtime).await;
            whole.push(started.elapsed());
        }
    }
    let (bare, whole) = (median(bare), median(whole));
    let ratio = whole.as_secs_f64() / bare.as_secs_f64();
    println!("bare engine {bare:?}, whole call {whole:?}: {ratio:.2} times");
    assert!(
        ratio <= ALLOWED_RATIO,
        "a call costs {ratio:.2} times the bare engine ({whole:?} against {bare:?})"
    );
}
