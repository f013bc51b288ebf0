//! What a subscriber tells of spans, from their beginning to their end.

use std::time::{Duration, Instant, SystemTime};

use tracing::span::{Attributes, Id, Record};
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{FilterFn, LevelFilter};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::exporter::Queue;
use crate::field::Fields;
use crate::ids::{Parent, SpanId, TraceId};
use crate::settings::Sampling;

/// The target of the spans that are exported.
pub(crate) const TARGET: &str = "toolcell";

/// A span that has ended.
#[derive(Debug)]
pub(crate) struct Span {
    pub name: &'static str,
    pub trace: TraceId,
    pub id: SpanId,
    pub parent: Option<SpanId>,
    pub began: SystemTime,
    pub duration: Duration,
    pub fields: Fields,
}

/// A span that has begun, in the registry's room for it.
struct Running {
    place: Parent,
    above: Option<SpanId>,
    began: SystemTime,
    started: Instant,
    fields: Fields,
}

/// The layer, for spans that [`filter`] lets through.
pub(crate) struct Spans {
    pub queue: Queue,
    pub sampling: Sampling,
}

/// Lets spans of toolcell through. It filters for this layer alone: others see what they want to.
pub(crate) fn filter() -> FilterFn {
    let is_ours = |metadata: &Metadata<'_>| {
        metadata.is_span() && metadata.target() == TARGET && *metadata.level() <= Level::INFO
    };
    FilterFn::new(is_ours as fn(&Metadata<'_>) -> bool).with_max_level_hint(LevelFilter::INFO)
}

impl Spans {
    /// Where a new span is. What its caller said goes before the span in which it happens to be.
    fn place(&self, said: Option<Parent>, around: Option<Parent>) -> Option<(Parent, Option<SpanId>)> {
        let span = SpanId::random()?;
        if let Some(parent) = said.or(around) {
            let is_sampled = self.sampling.of_parent(parent.is_sampled);
            return Some((Parent { trace: parent.trace, span, is_sampled }, Some(parent.span)));
        }
        let is_sampled = self.sampling.of_root();
        Some((Parent { trace: TraceId::random()?, span, is_sampled }, None))
    }
}

impl<S> Layer<S> for Spans
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let around = span
            .parent()
            .and_then(|parent| parent.extensions().get::<Running>().map(|running| running.place));
        let Some((place, above)) = self.place(fields.parent, around) else { return };
        let running = Running { place, above, began: SystemTime::now(), started: Instant::now(), fields };
        span.extensions_mut().replace(running);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(running) = span.extensions_mut().get_mut::<Running>() {
            values.record(&mut running.fields);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(running) = span.extensions_mut().remove::<Running>() else { return };
        if !running.place.is_sampled {
            return;
        }
        self.queue.add(Span {
            name: span.name(),
            trace: running.place.trace,
            id: running.place.span,
            parent: running.above,
            began: running.began,
            duration: running.started.elapsed(),
            fields: running.fields,
        });
    }
}
