//! `wasi:random`, with a total over the call: wasmtime's own cap is for each host call.

use wasmtime::Result;
use wasmtime::component::{HasData, Linker};
use wasmtime_wasi::p2::bindings::random::{insecure, insecure_seed, random};
use wasmtime_wasi::random::WasiRandomCtx;

use crate::sandbox::state::{Budget, CellState};

/// The generator together with what is left of the call's bytes.
pub(super) struct MeteredRandom<'a> {
    random: &'a mut WasiRandomCtx,
    budget: &'a mut Budget,
}

struct Random;

impl HasData for Random {
    type Data<'a> = MeteredRandom<'a>;
}

impl MeteredRandom<'_> {
    fn charge(&mut self, bytes: u64) -> Result<()> {
        self.budget.charge_random_bytes(bytes)?;
        Ok(self.budget.charge_host_bytes(bytes)?)
    }
}

impl random::Host for MeteredRandom<'_> {
    fn get_random_bytes(&mut self, len: u64) -> Result<Vec<u8>> {
        self.charge(len)?;
        self.random.get_random_bytes(len)
    }

    fn get_random_u64(&mut self) -> Result<u64> {
        self.charge(8)?;
        self.random.get_random_u64()
    }
}

impl insecure::Host for MeteredRandom<'_> {
    fn get_insecure_random_bytes(&mut self, len: u64) -> Result<Vec<u8>> {
        self.charge(len)?;
        self.random.get_insecure_random_bytes(len)
    }

    fn get_insecure_random_u64(&mut self) -> Result<u64> {
        self.charge(8)?;
        self.random.get_insecure_random_u64()
    }
}

impl insecure_seed::Host for MeteredRandom<'_> {
    fn insecure_seed(&mut self) -> Result<(u64, u64)> {
        self.charge(16)?;
        self.random.insecure_seed()
    }
}

pub(super) fn add_to_linker(linker: &mut Linker<CellState>) -> Result<()> {
    random::add_to_linker::<CellState, Random>(linker, view)?;
    insecure::add_to_linker::<CellState, Random>(linker, view)?;
    insecure_seed::add_to_linker::<CellState, Random>(linker, view)
}

fn view(state: &mut CellState) -> MeteredRandom<'_> {
    MeteredRandom { random: state.wasi.get().random(), budget: &mut state.budget }
}
