//! Trace context: [`TraceContext`], and its text form.
//!
//! Invariant: the text is the header `traceparent` of W3C Trace Context; any deviation from that
//! format is refused.

use std::fmt;
use std::str::FromStr;

use opentelemetry::trace::{SpanId, TraceFlags, TraceId};

/// Reference to a span, as it is passed to other tasks and programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// Id of the trace; not zero.
    pub trace: TraceId,
    /// Id of the span within the trace; not zero.
    pub span: SpanId,
    /// True if the spans of the trace are exported.
    pub sampled: bool,
}

/// Error for a text that is not a valid `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a traceparent of W3C Trace Context: 00-<32 hex digits>-<16 hex digits>-<2 hex digits>"
)]
pub struct InvalidTraceparent;

/// Characters of a `traceparent` of version 00; later versions may append to it.
const LENGTH: usize = 55;

// === impl TraceContext ===

impl TraceContext {
    /// Starts a new trace.
    pub(crate) fn root(sampled: bool) -> Self {
        Self {
            trace: rand::random::<u128>().max(1).into(),
            span: random_span_id(),
            sampled,
        }
    }

    /// Creates a new span in the same trace.
    pub fn child(&self) -> Self {
        Self {
            span: random_span_id(),
            ..*self
        }
    }

    /// Returns the trace's id in hexadecimal, as trace viewers accept it.
    pub fn trace_id(&self) -> String {
        self.trace.to_string()
    }
}

fn random_span_id() -> SpanId {
    rand::random::<u64>().max(1).into()
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = TraceFlags::default().with_sampled(self.sampled);
        write!(f, "00-{}-{}-{flags:02x}", self.trace, self.span)
    }
}

/// Written here, because OpenTelemetry has its reader in the SDK, which only the server links; that
/// one also takes ids with fewer digits, and with a sign before them.
impl FromStr for TraceContext {
    type Err = InvalidTraceparent;

    fn from_str(text: &str) -> Result<Self, InvalidTraceparent> {
        let (head, tail) = text.split_at_checked(LENGTH).ok_or(InvalidTraceparent)?;
        let fields: Vec<&str> = head.split('-').collect();
        let &[version, trace, span, flags] = fields.as_slice() else {
            return Err(InvalidTraceparent);
        };
        let are_long_enough = fields.iter().map(|field| field.len()).eq([2, 32, 16, 2]);
        // The standard demands lower-case digits; the readers of numbers take others, too.
        let are_digits = head
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-'));
        let longer_is_fine = version != "00" && tail.starts_with('-');
        if version == "ff"
            || !(tail.is_empty() || longer_is_fine)
            || !(are_long_enough && are_digits)
        {
            return Err(InvalidTraceparent);
        }
        let trace = TraceId::from_hex(trace).map_err(|_| InvalidTraceparent)?;
        let span = SpanId::from_hex(span).map_err(|_| InvalidTraceparent)?;
        let flags = u8::from_str_radix(flags, 16).map_err(|_| InvalidTraceparent)?;
        if trace == TraceId::INVALID || span == SpanId::INVALID {
            return Err(InvalidTraceparent);
        }
        Ok(Self {
            trace,
            span,
            sampled: TraceFlags::new(flags).is_sampled(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn the_standards_own_example_is_read_and_written() {
        let context: TraceContext = GOOD.parse().unwrap();
        assert!(context.sampled);
        assert_eq!(context.trace_id(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(context.to_string(), GOOD);
        let later = format!("01{}-what-comes", &GOOD[2..]);
        assert_eq!(later.parse(), Ok(context));
    }

    #[test]
    fn what_is_not_exactly_that_is_refused() {
        let zero_trace = format!("00-{}-b7ad6b7169203331-01", "0".repeat(32));
        let zero_span = format!("00-0af7651916cd43dd8448eb211c80319c-{}-01", "0".repeat(16));
        let more = format!("{GOOD}-more");
        let later = format!("01{}x", &GOOD[2..]);
        let version = format!("ff{}", &GOOD[2..]);
        let umlaut = format!("{}ü", &GOOD[..54]);
        let sign = format!("00-+{}", &GOOD[4..]);
        let shifted = format!("{}-{}", &GOOD[..34], &GOOD[34..].replacen('-', "", 1));
        let (upper, short) = (GOOD.to_uppercase(), &GOOD[..54]);
        for bad in [
            "",
            "00",
            &zero_trace,
            &zero_span,
            &more,
            &later,
            &version,
            &umlaut,
            &sign,
            &shifted,
            &upper,
            short,
        ] {
            assert_eq!(
                bad.parse::<TraceContext>(),
                Err(InvalidTraceparent),
                "{bad}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in ".{0,80}") {
            if let Ok(context) = text.parse::<TraceContext>() {
                prop_assert_eq!(context.to_string().parse::<TraceContext>(), Ok(context));
            }
        }
    }
}
