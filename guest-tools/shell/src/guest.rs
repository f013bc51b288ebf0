//! The component's side: WIT in, [`run`](crate::run) out.

use std::time::Duration;

use crate::{Answer, Request, run};

mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "shell", generate_all });
}

use bindings::exports::toolcell::shell::tools::Guest;
use bindings::toolcell::tool::context;
use bindings::toolcell::tool::types::{Content, Output};

/// The timeout where a call has none; the schema says it too.
const TIMEOUT: u32 = 120;

/// What is kept of the host's time to return what was written until then: a tenth, at most this.
const RESERVE: Duration = Duration::from_millis(500);

fn timeout(wanted: Option<u32>) -> Duration {
    let wanted = Duration::from_secs(u64::from(wanted.unwrap_or(TIMEOUT)));
    let allowed = Duration::from_millis(context::time_limit());
    wanted.min(allowed.saturating_sub(RESERVE.min(allowed / 10)))
}

struct Component;

bindings::export!(Component with_types_in bindings);

impl Guest for Component {
    fn bash(command: String, wanted: Option<u32>) -> Result<Output, String> {
        let roots = wasip2::filesystem::preopens::get_directories();
        let request = Request {
            command,
            timeout: Some(timeout(wanted)),
            roots: roots.into_iter().map(|(_, name)| name).collect(),
            environment: std::env::vars().collect(),
        };
        let Answer { output, code, duration } = run(&request);
        if code != 0 {
            return Err(format!("Command exit code: {code}\n{output}"));
        }
        let structured = format!("{{\"exit_code\":0,\"duration_ms\":{}}}", duration.as_millis());
        Ok(Output { content: vec![Content::Text(output)], structured: Some(structured) })
    }
}
