//! `wasi:clocks`: the host's clocks, or those of a deterministic call.

use wasmtime::Result;
use wasmtime::component::{HasData, Linker, Resource};
use wasmtime_wasi::clocks::WasiClocksCtxView;
use wasmtime_wasi::p2::bindings::clocks::{monotonic_clock, wall_clock};
use wasmtime_wasi::p2::{DynPollable, subscribe};

use crate::recording::Tape;
use crate::sandbox::state::CellState;
use crate::sandbox::tape::taped;
use crate::sandbox::time::{Time, Timer};

/// The clocks of one call.
pub(super) struct Clocks<'a> {
    host: WasiClocksCtxView<'a>,
    time: Option<&'a mut Time>,
    tape: Option<Tape>,
}

struct HasClocks;

impl HasData for HasClocks {
    type Data<'a> = Clocks<'a>;
}

pub(super) fn add_to_linker(linker: &mut Linker<CellState>) -> Result<()> {
    wall_clock::add_to_linker::<CellState, HasClocks>(linker, view)?;
    monotonic_clock::add_to_linker::<CellState, HasClocks>(linker, view)
}

fn view(state: &mut CellState) -> Clocks<'_> {
    let CellState { wasi, table, time, tape, .. } = state;
    let ctx = wasi.get().clocks();
    Clocks { host: WasiClocksCtxView { ctx, table }, time: time.as_deref_mut(), tape: tape.clone() }
}

impl wall_clock::Host for Clocks<'_> {
    fn now(&mut self) -> Result<wall_clock::Datetime> {
        taped!(
            self.tape.clone(),
            "wall-clock now".to_owned(),
            match &mut self.time {
                None => wall_clock::Host::now(&mut self.host),
                Some(time) => Ok(datetime(time.wall())),
            }
        )
    }

    fn resolution(&mut self) -> Result<wall_clock::Datetime> {
        taped!(
            self.tape.clone(),
            "wall-clock resolution".to_owned(),
            match &self.time {
                None => wall_clock::Host::resolution(&mut self.host),
                Some(_) => Ok(datetime(std::time::Duration::from_nanos(Time::resolution()))),
            }
        )
    }
}

fn datetime(time: std::time::Duration) -> wall_clock::Datetime {
    wall_clock::Datetime { seconds: time.as_secs(), nanoseconds: time.subsec_nanos() }
}

impl monotonic_clock::Host for Clocks<'_> {
    fn now(&mut self) -> Result<u64> {
        taped!(
            self.tape.clone(),
            "monotonic-clock now".to_owned(),
            match &mut self.time {
                None => monotonic_clock::Host::now(&mut self.host),
                Some(time) => Ok(time.monotonic()),
            }
        )
    }

    fn resolution(&mut self) -> Result<u64> {
        taped!(
            self.tape.clone(),
            "monotonic-clock resolution".to_owned(),
            match &self.time {
                None => monotonic_clock::Host::resolution(&mut self.host),
                Some(_) => Ok(Time::resolution()),
            }
        )
    }

    // What a timer is told comes from the guest, and when it is over, a poll says.
    fn subscribe_instant(&mut self, when: u64) -> Result<Resource<DynPollable>> {
        match &self.time {
            None => monotonic_clock::Host::subscribe_instant(&mut self.host, when),
            Some(_) => self.timer(when),
        }
    }

    fn subscribe_duration(&mut self, duration: u64) -> Result<Resource<DynPollable>> {
        match &self.time {
            None => monotonic_clock::Host::subscribe_duration(&mut self.host, duration),
            Some(time) => self.timer(time.after(duration)),
        }
    }
}

impl Clocks<'_> {
    fn timer(&mut self, over_at: u64) -> Result<Resource<DynPollable>> {
        let timer = self.host.table.push(Timer)?;
        let pollable = subscribe(self.host.table, timer)?;
        if let Some(time) = &mut self.time {
            time.add(&pollable, over_at);
        }
        Ok(pollable)
    }
}
