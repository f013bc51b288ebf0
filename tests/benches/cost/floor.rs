//! wasmtime alone with its best settings: a pool, components linked ahead, functions looked up once, typed calls,
//! synchronous, no limits; the price of an instance of one's own that the machine itself asks.

use std::path::Path;
use std::time::Duration;

use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Linker, ResourceTable};
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxView, WasiView};

use crate::measure::{Subject, timed};
use crate::work::Work;

/// What is compiled into the guest's code to end it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Metering {
    None,
    Fuel,
    Epochs,
}

/// What a guest that uses WASI has on the host.
struct State {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// One work by wasmtime alone.
pub struct Floor {
    pre: InstancePre<State>,
    function: ComponentExportIndex,
    metering: Metering,
    folder: Option<std::path::PathBuf>,
    work: Work,
}

impl Floor {
    pub fn new(work: Work, metering: Metering, folder: Option<&Path>) -> Self {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_component_instances(32).total_core_instances(640).total_memories(64).total_tables(128);
        pool.total_stacks(32).table_elements(20_000).linear_memory_keep_resident(1 << 20);
        pool.table_keep_resident(64 << 10).pagemap_scan(Enabled::Auto).max_unused_warm_slots(32);
        let mut config = Config::new();
        config.concurrency_support(false);
        config.consume_fuel(metering == Metering::Fuel).epoch_interruption(metering == Metering::Epochs);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = Engine::new(&config).unwrap();
        let component = Component::new(&engine, work.component()).unwrap();
        let function = match &work {
            Work::Echo(_) => component.get_export_index(None, "echo"),
            work => component
                .get_export_index(None, "toolcell:guests/work@0.1.0")
                .and_then(|interface| component.get_export_index(Some(&interface), work.function())),
        };
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_sync(&mut linker).unwrap();
        let pre = linker.instantiate_pre(&component).unwrap();
        Self { pre, function: function.unwrap(), metering, folder: folder.map(Path::to_owned), work }
    }

    fn store(&self) -> Store<State> {
        let mut wasi = WasiCtx::builder();
        if let Some(folder) = &self.folder {
            wasi.allow_blocking_current_thread(true);
            wasi.preopened_dir(folder, "/work", FsPerms::ReadOnly).unwrap();
        }
        let state = State { wasi: wasi.build(), table: ResourceTable::new() };
        let mut store = Store::new(self.pre.engine(), state);
        match self.metering {
            Metering::None => {}
            Metering::Fuel => store.set_fuel(u64::MAX / 2).unwrap(),
            Metering::Epochs => store.set_epoch_deadline(u64::MAX / 2),
        }
        store
    }

    pub fn call(&self) {
        let mut store = self.store();
        let instance = self.pre.instantiate(&mut store).unwrap();
        let function = &self.function;
        macro_rules! called {
            ($parameters:ty, $result:ty, $given:expr) => {{
                let function =
                    instance.get_typed_func::<$parameters, ($result,)>(&mut store, function).unwrap();
                let _ = std::hint::black_box(function.call(&mut store, $given).unwrap());
            }};
        }
        match &self.work {
            Work::Sum(a, b) => called!((i64, i64), i64, (*a, *b)),
            Work::Echo(text) | Work::Repeat(text) => called!((&str,), String, (text,)),
            Work::Digest(mib) => called!((u32,), String, (*mib,)),
            Work::Take(kib) => called!((u32,), u32, (*kib,)),
            Work::Values(json) => called!((&str,), Result<u32, String>, (json,)),
            Work::Content(path) => called!((&str,), Result<String, String>, (path,)),
        }
    }
}

impl Subject for Floor {
    async fn run(&self, times: usize) -> Vec<Duration> {
        // wasmtime's synchronous host calls refuse a thread that an executor drives.
        std::thread::scope(|scope| scope.spawn(|| timed(times, || self.call())).join().unwrap())
    }
}
