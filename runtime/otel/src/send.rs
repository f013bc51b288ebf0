//! One request to the collector.

use std::time::Duration;

use serde_json::Value;
use ureq::Agent;
use ureq::http::StatusCode;

use crate::settings::Settings;

/// The most bytes that are read of an answer; one that says what was rejected is a line.
const MAX_ANSWER: u64 = 64 * 1024;

/// Why the collector did not take a request.
pub(crate) struct Failure {
    pub why: String,
    /// Whether the same request may be taken later.
    pub is_temporary: bool,
}

/// The collector, and what it is told with every request.
pub(crate) struct Collector {
    agent: Agent,
    settings: Settings,
}

impl Collector {
    pub fn new(settings: Settings) -> Self {
        // Neither proxies nor redirections: spans, and the headers with them, go where the endpoint says.
        let config = Agent::config_builder()
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .user_agent(concat!("toolcell-otel/", env!("CARGO_PKG_VERSION")))
            .build();
        Self { agent: config.into(), settings }
    }

    /// The longest time for everything that is sent at once.
    pub fn timeout(&self) -> Duration {
        self.settings.timeout
    }

    /// What spans are told to come from.
    pub fn resource(&self) -> &[(String, String)] {
        &self.settings.resource
    }

    /// The address, without a query, in which there may be a key.
    pub fn address(&self) -> &str {
        self.settings.url.split('?').next().unwrap_or_default()
    }

    /// Sends a request, and says how many of its spans were rejected.
    pub fn send(&self, body: &Value, within: Duration) -> Result<u64, Failure> {
        let mut request = self.agent.post(&self.settings.url);
        for (name, value) in &self.settings.headers {
            request = request.header(name, value);
        }
        let request = request.config().timeout_global(Some(within)).build().content_type("application/json");
        let failed = |error: ureq::Error| Failure { why: error.to_string(), is_temporary: true };
        let mut answer = request.send(body.to_string()).map_err(failed)?;
        let status = answer.status();
        if !status.is_success() {
            return Err(Failure { why: format!("it answered {status}"), is_temporary: is_temporary(status) });
        }
        // It took them; an answer that cannot be read changes nothing of that.
        let answer = answer.body_mut().with_config().limit(MAX_ANSWER).read_to_string();
        Ok(answer.ok().and_then(|answer| rejected(&answer)).unwrap_or_default())
    }
}

/// The answers after which OTLP has a client try again.
fn is_temporary(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}

/// How many spans an answer says were rejected: a number of 64 bits, as text or as a number.
fn rejected(answer: &str) -> Option<u64> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    let count = answer.pointer("/partialSuccess/rejectedSpans")?;
    count.as_u64().or_else(|| count.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_may_say_what_was_rejected() {
        assert_eq!(rejected("{}"), None);
        assert_eq!(rejected("ok"), None);
        assert_eq!(rejected(r#"{"partialSuccess":{"rejectedSpans":"3"}}"#), Some(3));
        assert_eq!(rejected(r#"{"partialSuccess":{"rejectedSpans":2,"errorMessage":"no"}}"#), Some(2));
    }
}
