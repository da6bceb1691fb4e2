//! Trace context: [`TraceContext`], and its text form.
//!
//! Invariant: the text is the header `traceparent` of W3C Trace Context; any deviation from that
//! format is refused.

use std::fmt;
use std::str::FromStr;

/// Id of a trace; not all zero.
pub type TraceId = [u8; 16];

/// Id of a span within its trace; not all zero.
pub type SpanId = [u8; 8];

/// Reference to a span, as it is passed to other tasks and programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// Id of the trace.
    pub trace: TraceId,
    /// Id of the span within the trace.
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
            trace: rand::random::<u128>().max(1).to_be_bytes(),
            span: span_id(),
            sampled,
        }
    }

    /// Creates a new span in the same trace.
    pub fn child(&self) -> Self {
        Self {
            span: span_id(),
            ..*self
        }
    }

    /// Returns the trace's id in hexadecimal, as trace viewers accept it.
    pub fn trace_id(&self) -> String {
        hex(&self.trace)
    }
}

fn span_id() -> SpanId {
    rand::random::<u64>().max(1).to_be_bytes()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = u8::from(self.sampled);
        write!(f, "00-{}-{}-{flags:02x}", hex(&self.trace), hex(&self.span))
    }
}

impl FromStr for TraceContext {
    type Err = InvalidTraceparent;

    fn from_str(text: &str) -> Result<Self, InvalidTraceparent> {
        let bytes = text.as_bytes();
        let (head, tail) = bytes.split_at_checked(LENGTH).ok_or(InvalidTraceparent)?;
        let [version] = unhex(&head[..2])?;
        let longer_is_fine = version != 0 && tail.first() == Some(&b'-');
        let dashes = [2, 35, 52].iter().all(|&place| head[place] == b'-');
        if version == 0xff || !dashes || !(tail.is_empty() || longer_is_fine) {
            return Err(InvalidTraceparent);
        }
        let (trace, span): (TraceId, SpanId) = (unhex(&head[3..35])?, unhex(&head[36..52])?);
        let [flags] = unhex(&head[53..55])?;
        if trace == TraceId::default() || span == SpanId::default() {
            return Err(InvalidTraceparent);
        }
        Ok(Self {
            trace,
            span,
            sampled: flags & 1 == 1,
        })
    }
}

/// Accepts lower-case digits only, as the standard demands.
fn unhex<const N: usize>(digits: &[u8]) -> Result<[u8; N], InvalidTraceparent> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        _ => Err(InvalidTraceparent),
    };
    if digits.len() != 2 * N {
        return Err(InvalidTraceparent);
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Ok(bytes)
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
