//! An answer made where it may wait for the store of full outputs.

use std::sync::Arc;

use super::{Answering, end_with};
use crate::call::{CallError, ErrorKind, Outcome};
use crate::limits::EffectiveLimits;
use crate::runtime::{Call, Shared, Terms};

/// Shapes an outcome on a thread that may wait: others on the caller's go on meanwhile.
pub(in crate::runtime) async fn aside(
    shared: &Arc<Shared>,
    terms: &Terms,
    call: &Call,
    limits: Arc<EffectiveLimits>,
    outcome: &mut Outcome,
    answer: impl FnOnce(&Answering<'_>, &mut Outcome) + Send + 'static,
) {
    let (keeping, bounds, session) = (Arc::clone(shared), terms.bounds, call.session.name().to_owned());
    let owner = call.session.state.identity.owner().to_owned();
    // What is known of the call stays here for its record, should it be dropped.
    let mut shaped = outcome.clone();
    let shaping = shared.sandbox.handle().spawn_blocking(move || {
        let outputs = &keeping.outputs;
        answer(
            &Answering { bounds, outputs, session: &session, owner: &owner, limits: &limits },
            &mut shaped,
        );
        shaped
    });
    match shaping.await {
        Ok(shaped) => *outcome = shaped,
        Err(_) => end_with(CallError::new(ErrorKind::Internal, "the answer was lost"), outcome),
    }
}
