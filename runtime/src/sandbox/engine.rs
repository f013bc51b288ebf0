//! Engines: the compiler's settings and the memory that instances are made in. At most two a runtime.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
    WasmBacktraceDetails,
};

use crate::error::{Error, Result};
use crate::limits::Limit;
use crate::process::between_starts;

/// How an engine interrupts and meters guests. One meter is compiled in, never both: together they cost what
/// each costs alone, and fuel serves preemption as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Meter {
    /// Fuel: a deterministic budget, and a yield every [`FUEL_YIELD_INTERVAL`] units.
    Fuel,
    /// Epochs: time alone, for `fuel = "off"`.
    Epoch,
}

/// Where instances live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Allocation {
    /// Slots prepared ahead and reused: the fastest instantiation. Takes about 8 GiB of address space a cell.
    #[default]
    Pooling,
    /// Memory mapped for each call: the fastest start of a process, for one-shot programs.
    OnDemand,
}

/// Guest instructions between two looks at the clock. One million takes about a millisecond; a tenth of it was
/// measured to cost 20 to 50 % of the guest's speed.
pub(crate) const FUEL_YIELD_INTERVAL: u64 = 1_000_000;

/// The period of the epoch clock.
const EPOCH_TICK: Duration = Duration::from_millis(2);

/// What host functions may use of the fiber's stack beyond the guest's own limit.
const HOST_STACK: usize = 512 << 10;

/// Memories and tables of one component that the pool serves, by measured need of interpreters (C 1, Python 2
/// memories); a component that wants more fails at load.
const MEMORIES_PER_COMPONENT: u32 = 4;
const TABLES_PER_COMPONENT: u32 = 20;

/// Settings that are fixed when an engine is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EngineSettings {
    pub allocation: Allocation,
    pub cells: u32,
    pub stack: u64,
    pub table_elements: u64,
    pub instances: u64,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            allocation: Allocation::default(),
            cells: 32,
            stack: Limit::Stack.default_value(),
            table_elements: Limit::TableElements.default_value(),
            instances: Limit::Instances.default_value(),
        }
    }
}

/// The engines of one runtime, each made when it is first needed.
pub(crate) struct Engines {
    settings: EngineSettings,
    fuel: OnceLock<Result<Engine, String>>,
    epoch: OnceLock<Result<EpochEngine, String>>,
    fell_back: AtomicBool,
}

impl Engines {
    pub fn new(settings: EngineSettings) -> Self {
        Self { settings, fuel: OnceLock::new(), epoch: OnceLock::new(), fell_back: AtomicBool::new(false) }
    }

    pub fn settings(&self) -> &EngineSettings {
        &self.settings
    }

    /// The engine for `meter`.
    pub fn get(&self, meter: Meter) -> Result<&Engine> {
        let made = match meter {
            Meter::Fuel => self.fuel.get_or_init(|| self.make(Meter::Fuel)).as_ref(),
            Meter::Epoch => self
                .epoch
                .get_or_init(|| self.make(Meter::Epoch).and_then(EpochEngine::start))
                .as_ref()
                .map(|epoch| &epoch.engine),
        };
        made.map_err(|message| Error::Sandbox { message: message.clone() })
    }

    /// Whether the pool did not fit the address space, so that instances are mapped on demand.
    pub fn fell_back(&self) -> bool {
        self.fell_back.load(Ordering::Relaxed)
    }

    fn make(&self, meter: Meter) -> Result<Engine, String> {
        let mut config = compiler_config(meter);
        stack_config(&mut config, self.settings.stack)?;
        if self.settings.allocation == Allocation::Pooling {
            config.allocation_strategy(pooling(&self.settings)?);
            // The first pool of a process makes wasmtime open its page map and ask to be told of forks. A fork while it
            // does so leaves a child that waits for it for ever, with every pipe of ours open.
            between_starts(PoolingAllocationConfig::is_pagemap_scan_available);
            match Engine::new(&config) {
                Ok(engine) => return Ok(engine),
                // Too little address space or too few mappings: slower calls are better than none.
                Err(_) => self.fell_back.store(true, Ordering::Relaxed),
            }
            config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
        }
        Engine::new(&config).map_err(|error| format!("{error:#}"))
    }
}

/// An engine that only compiles, in a process of its own.
pub(crate) fn compiling_engine(meter: Meter, stack: u64) -> Result<Engine> {
    let mut config = compiler_config(meter);
    stack_config(&mut config, stack).map_err(|message| Error::Sandbox { message })?;
    Engine::new(&config).map_err(|error| Error::Sandbox { message: format!("{error:#}") })
}

/// Everything that decides what native code a component becomes. Proposals that wasm32-wasip2 guests do not need
/// are off: most of wasmtime's advisories are in them.
fn compiler_config(meter: Meter) -> Config {
    let mut config = Config::new();
    config.cranelift_opt_level(OptLevel::Speed);
    config.parallel_compilation(true);
    config.memory_init_cow(true);
    // Component async costs every call a factor, and its advisories are the worst of the component model's.
    config.concurrency_support(false);
    config.wasm_threads(false);
    config.wasm_gc(false);
    config.wasm_function_references(false);
    config.wasm_exceptions(false);
    config.wasm_memory64(false);
    config.wasm_relaxed_simd(false);
    // A deep recursion must not become a megabyte of backtrace; where a trap came from is in its kind.
    config.wasm_backtrace_details(WasmBacktraceDetails::Disable);
    config.wasm_backtrace_max_frames(None);
    match meter {
        Meter::Fuel => config.consume_fuel(true),
        Meter::Epoch => config.epoch_interruption(true),
    };
    config
}

fn stack_config(config: &mut Config, stack: u64) -> Result<(), String> {
    let stack = usize::try_from(stack).map_err(|_| format!("a stack of {stack} bytes is too large"))?;
    config.max_wasm_stack(stack);
    config.async_stack_size(stack.saturating_add(HOST_STACK));
    Ok(())
}

fn pooling(settings: &EngineSettings) -> Result<PoolingAllocationConfig, String> {
    let too_many = |_| "too many cells or instances for a pool".to_owned();
    let instances = u32::try_from(settings.instances).map_err(too_many)?;
    let elements = usize::try_from(settings.table_elements).map_err(too_many)?;
    let cells = settings.cells.max(1);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(cells)
        .total_core_instances(cells.saturating_mul(instances))
        .max_core_instances_per_component(instances)
        .total_memories(cells.saturating_mul(2))
        .max_memories_per_component(MEMORIES_PER_COMPONENT)
        .max_memories_per_module(2)
        .max_memory_size(4 << 30)
        .total_tables(cells.saturating_mul(4))
        .max_tables_per_component(TABLES_PER_COMPONENT)
        .max_tables_per_module(4)
        .table_elements(elements)
        .total_stacks(cells)
        .total_gc_heaps(0)
        // What stays resident in a slot between calls: residue at most `cells` times these.
        .linear_memory_keep_resident(1 << 20)
        .table_keep_resident(64 << 10)
        .async_stack_keep_resident(64 << 10)
        .pagemap_scan(Enabled::Auto)
        .max_unused_warm_slots(cells);
    Ok(pool)
}

/// An engine whose clock is ticked by a thread that guests never run on; the thread ends with the engine.
struct EpochEngine {
    engine: Engine,
    _alive: Arc<()>,
}

impl EpochEngine {
    fn start(engine: Engine) -> Result<Self, String> {
        let alive = Arc::new(());
        let watched: Weak<()> = Arc::downgrade(&alive);
        let ticked = engine.weak();
        std::thread::Builder::new()
            .name("toolcell-epoch".to_owned())
            .spawn(move || {
                while watched.strong_count() > 0 {
                    std::thread::sleep(EPOCH_TICK);
                    match ticked.upgrade() {
                        Some(engine) => engine.increment_epoch(),
                        None => break,
                    }
                }
            })
            .map_err(|error| format!("cannot start the clock of `fuel = \"off\"`: {error}"))?;
        Ok(Self { engine, _alive: alive })
    }
}
