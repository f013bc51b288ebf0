//! Spans of toolcell's calls for OpenTelemetry: a layer for a subscriber of `tracing`, and a thread that sends what it
//! sees to a collector by OTLP over HTTP, in the protocol's JSON.
//!
//! ```no_run
//! use toolcell_otel::{Exporter, Settings};
//! use tracing_subscriber::layer::SubscriberExt as _;
//!
//! let exporter = Exporter::start(Settings::endpoint("http://localhost:4318")?)?;
//! let subscriber = tracing_subscriber::registry().with(exporter.layer());
//! tracing::subscriber::set_global_default(subscriber)?;
//! // … calls …
//! exporter.shutdown()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Only spans of the target `toolcell` are exported, of which no argument, result or message is a field. A program that
//! traces itself has a layer of its own for OpenTelemetry, which sees these spans like all others.
//!
//! [`Settings::from_env`] reads the variables that OpenTelemetry specifies. A call whose metadata has a `traceparent` is a
//! child of that span.

mod encode;
mod error;
mod exporter;
mod field;
mod ids;
mod layer;
mod send;
mod settings;

pub use error::{Error, Result};
pub use exporter::Exporter;
pub use settings::{Sampling, Settings};
