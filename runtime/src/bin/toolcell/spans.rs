//! Spans of this run for OpenTelemetry, where the environment names a collector. Whatever is wrong with that is a warning:
//! variables that are meant for every program of a machine must not keep this one from its work.

use toolcell::otel::{Exporter, Settings};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::terminal::{Label, say};

/// Begins to export, if the environment says where to.
pub(crate) fn start() -> Option<Exporter> {
    let settings = Settings::from_env().inspect_err(warn).ok()??;
    let exporter = Exporter::start(settings).inspect_err(warn).ok()?;
    tracing_subscriber::registry().with(exporter.layer()).try_init().inspect_err(warn).ok()?;
    Some(exporter)
}

/// Exports what is left.
pub(crate) fn end(exporter: Option<Exporter>) {
    if let Some(Err(error)) = exporter.map(Exporter::shutdown) {
        warn(&error);
    }
}

fn warn(error: &impl std::error::Error) {
    say(Label::Warning, format!("spans are not exported: {error}"));
}
