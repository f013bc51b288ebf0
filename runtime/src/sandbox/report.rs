//! What of a cell's state outlives its store.

use super::state::CellState;
use crate::call::Log;

/// Everything that the guest printed and logged.
pub(super) fn logs(state: &mut CellState, is_command: bool) -> Vec<Log> {
    let mut logs = std::mem::take(&mut state.logs);
    if state.dropped_logs > 0 {
        if let Some(redactor) = state.events.redactor() {
            redactor.cut_last(&mut logs.iter_mut().map(|log| &mut log.text).collect::<Vec<_>>());
        }
        logs.push(Log::new("warn", format!("[... {} more records were not kept ...]", state.dropped_logs)));
    }
    if !is_command {
        logs.extend(state.stdout.text(state.events.redactor()).map(|text| Log::new("stdout", text)));
    }
    logs.extend(state.stderr.text(state.events.redactor()).map(|text| Log::new("stderr", text)));
    logs
}
