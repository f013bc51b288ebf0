//! Identifiers of traces and spans, and the header in which a caller sends them.

use std::fmt::{self, Display};

/// What a span belongs to and what is above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parent {
    pub trace: TraceId,
    pub span: SpanId,
    pub is_sampled: bool,
}

impl Parent {
    /// Reads a W3C `traceparent`. What is none, or names nothing, is no parent: the call begins a trace of its own.
    pub fn parse(header: &str) -> Option<Self> {
        let mut parts = header.split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let [version] = bytes::<1>(version)?;
        // Later versions may add parts; this one has none.
        if version == 0xff || (version == 0 && parts.next().is_some()) {
            return None;
        }
        let [flags] = bytes::<1>(flags)?;
        let (trace, span) = (bytes::<16>(trace)?, bytes::<8>(span)?);
        let is_valid = trace != [0; 16] && span != [0; 8];
        is_valid.then_some(Self { trace: TraceId(trace), span: SpanId(span), is_sampled: flags & 1 == 1 })
    }
}

/// The number of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TraceId(pub [u8; 16]);

impl TraceId {
    /// A new one; `None` where the system gives no random bytes, and then nothing is traced.
    pub fn random() -> Option<Self> {
        random().map(Self)
    }
}

/// The number of a span in its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpanId(pub [u8; 8]);

impl SpanId {
    /// A new one, as [`TraceId::random`].
    pub fn random() -> Option<Self> {
        random().map(Self)
    }
}

impl Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

impl Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

fn hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

/// Random bytes that are not all zero, which would name nothing.
fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).ok()?;
    (bytes != [0; N]).then_some(bytes)
}

/// Exactly `N` bytes in lower-case hexadecimal digits, as the header's rules want them.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let mut bytes = [0; N];
    if pairs.len() != N {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

fn digit(letter: u8) -> Option<u8> {
    match letter {
        b'0'..=b'9' => Some(letter - b'0'),
        b'a'..=b'f' => Some(letter - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn a_traceparent_is_read_or_is_none() {
        let read = |header: String| {
            Parent::parse(&header).map(|p| (p.trace.to_string(), p.span.to_string(), p.is_sampled))
        };
        let some = |sampled| Some((TRACE.to_owned(), SPAN.to_owned(), sampled));
        assert_eq!(read(format!("00-{TRACE}-{SPAN}-01")), some(true));
        assert_eq!(read(format!("00-{TRACE}-{SPAN}-00")), some(false));
        assert_eq!(read(format!("01-{TRACE}-{SPAN}-03-more")), some(true));
        let zero = "0".repeat(32);
        for wrong in [
            String::new(),
            "é".repeat(30),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{zero}-{SPAN}-01"),
            format!("00-{TRACE}-0000000000000000-01"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{TRACE}0-{SPAN}-01"),
            format!("00-{TRACE}00-{SPAN}-01"),
        ] {
            assert_eq!(read(wrong.clone()), None, "{wrong}");
        }
    }

    #[test]
    fn identifiers_differ() {
        assert_ne!(TraceId::random(), TraceId::random());
        assert_ne!(SpanId::random(), SpanId::random());
    }
}
