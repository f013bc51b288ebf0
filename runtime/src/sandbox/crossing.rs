//! What happens whenever a guest calls the host or the host returns.

use std::task::Poll;

use wasmtime::{CallHook, CallHookHandler, StoreContextMut, Trap};

use super::HOST_CALL_BYTES;
use super::engine::Meter;
use super::state::CellState;

/// Fuel for one crossing to the host: about what it costs in guest instructions, so that a loop of cheap host calls
/// has a budget as well.
const CROSSING_FUEL: u64 = 500;

/// How long one poll may last, in nanoseconds, before a guest that calls the host must yield: by its own instructions
/// alone it would hold the executor's thread for seconds.
const LONG_POLL: u64 = 10_000_000;

/// What happens at every crossing: the clock is compared, fuel is charged, and a poll that lasts too long ends. Fuel
/// alone would not end it: each charge starts the interval between yields anew.
pub(super) struct Crossing(pub Meter);

#[wasmtime_wasi::async_trait]
impl CallHookHandler<CellState> for Crossing {
    async fn handle_call_event(
        &self,
        mut context: StoreContextMut<'_, CellState>,
        hook: CallHook,
    ) -> wasmtime::Result<()> {
        match hook {
            CallHook::CallingHost => {
                if context.data().watch.check_poll()? > LONG_POLL {
                    yield_now().await;
                }
                let state = context.data_mut();
                state.lifting_result = false;
                state.limiter.calling_host();
                context.set_hostcall_fuel(HOST_CALL_BYTES);
                match self.0 {
                    Meter::Fuel => charge_crossing(&mut context),
                    Meter::Epoch => Ok(()),
                }
            }
            CallHook::ReturningFromHost => Ok(context.data().watch.check()?),
            CallHook::ReturningFromWasm => {
                let state = context.data_mut();
                state.lifting_result = true;
                let lift_bytes = state.lift_bytes;
                context.set_hostcall_fuel(lift_bytes);
                Ok(())
            }
            CallHook::CallingWasm => Ok(()),
        }
    }
}

/// Takes the price of a crossing.
fn charge_crossing(context: &mut StoreContextMut<'_, CellState>) -> wasmtime::Result<()> {
    match context.get_fuel()?.checked_sub(CROSSING_FUEL) {
        Some(left) => context.set_fuel(left),
        None => {
            context.set_fuel(0)?;
            Err(Trap::OutOfFuel.into())
        }
    }
}

/// Gives everybody else on the executor's thread a turn.
async fn yield_now() {
    let mut has_yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
