//! `wasi:random`, with a total over the call: wasmtime's own cap is for each host call. A deterministic call has its
//! randomness from a seed.

use wasmtime::Result;
use wasmtime::component::{HasData, Linker};
use wasmtime_wasi::p2::bindings::random::{insecure, insecure_seed, random};
use wasmtime_wasi::random::WasiRandomCtx;

use crate::recording::Tape;
use crate::sandbox::state::{Budget, CellState};
use crate::sandbox::tape::taped;
use crate::sandbox::time::SeededRandom;

/// The generator together with what is left of the call's bytes.
pub(super) struct MeteredRandom<'a> {
    random: &'a mut WasiRandomCtx,
    seeded: Option<&'a mut SeededRandom>,
    budget: &'a mut Budget,
    tape: Option<Tape>,
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
        taped!(
            self.tape.clone(),
            format!("random {len}"),
            match &mut self.seeded {
                None => self.random.get_random_bytes(len),
                Some(seeded) => Ok(seeded.secure.bytes(len)),
            }
        )
    }

    fn get_random_u64(&mut self) -> Result<u64> {
        self.charge(8)?;
        taped!(
            self.tape.clone(),
            "random u64".to_owned(),
            match &mut self.seeded {
                None => self.random.get_random_u64(),
                Some(seeded) => Ok(seeded.secure.next()),
            }
        )
    }
}

impl insecure::Host for MeteredRandom<'_> {
    fn get_insecure_random_bytes(&mut self, len: u64) -> Result<Vec<u8>> {
        self.charge(len)?;
        taped!(
            self.tape.clone(),
            format!("insecure {len}"),
            match &mut self.seeded {
                None => self.random.get_insecure_random_bytes(len),
                Some(seeded) => Ok(seeded.insecure.bytes(len)),
            }
        )
    }

    fn get_insecure_random_u64(&mut self) -> Result<u64> {
        self.charge(8)?;
        taped!(
            self.tape.clone(),
            "insecure u64".to_owned(),
            match &mut self.seeded {
                None => self.random.get_insecure_random_u64(),
                Some(seeded) => Ok(seeded.insecure.next()),
            }
        )
    }
}

impl insecure_seed::Host for MeteredRandom<'_> {
    fn insecure_seed(&mut self) -> Result<(u64, u64)> {
        self.charge(16)?;
        taped!(
            self.tape.clone(),
            "insecure-seed".to_owned(),
            match &self.seeded {
                None => self.random.insecure_seed(),
                Some(seeded) => Ok(seeded.seed),
            }
        )
    }
}

pub(super) fn add_to_linker(linker: &mut Linker<CellState>) -> Result<()> {
    random::add_to_linker::<CellState, Random>(linker, view)?;
    insecure::add_to_linker::<CellState, Random>(linker, view)?;
    insecure_seed::add_to_linker::<CellState, Random>(linker, view)
}

fn view(state: &mut CellState) -> MeteredRandom<'_> {
    MeteredRandom {
        random: state.wasi.get().random(),
        seeded: state.random.as_deref_mut(),
        budget: &mut state.budget,
        tape: state.tape.clone(),
    }
}
