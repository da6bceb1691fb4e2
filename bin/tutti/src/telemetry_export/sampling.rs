//! Sampling of traces: [`TraceSampling`], by `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG`.
//!
//! Invariant: sampling depends on the trace's id, so all programs with the same ratio keep the same
//! traces.

use std::env;

use telemetry::{TraceContext, TraceId};

/// Sampler that keeps a part of the traces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TraceSampling {
    /// True if the decision of the client takes precedence.
    parent_based: bool,
    /// Ratio of kept traces among those that begin here: 0 to 1.
    share: f64,
}

// === impl TraceSampling ===

impl TraceSampling {
    const ALL: Self = Self {
        parent_based: true,
        share: 1.0,
    };

    pub(super) fn from_environment() -> Self {
        let name = env::var("OTEL_TRACES_SAMPLER").unwrap_or_default();
        let argument = env::var("OTEL_TRACES_SAMPLER_ARG").unwrap_or_default();
        Self::parse(&name, &argument).unwrap_or_else(|| {
            tracing::warn!(
                sampler = name,
                argument,
                "OTEL_TRACES_SAMPLER is not understood; every trace is kept"
            );
            Self::ALL
        })
    }

    fn parse(name: &str, argument: &str) -> Option<Self> {
        if name.is_empty() {
            return Some(Self::ALL);
        }
        let (parent_based, own) = match name.strip_prefix("parentbased_") {
            Some(own) => (true, own),
            None => (false, name),
        };
        let share = match own {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" if argument.is_empty() => 1.0,
            "traceidratio" => argument.parse().ok()?,
            _ => return None,
        };
        (0.0..=1.0).contains(&share).then_some(Self {
            parent_based,
            share,
        })
    }

    pub(super) fn is_sampled(self, parent: Option<&TraceContext>, trace: TraceId) -> bool {
        if let (true, Some(parent)) = (self.parent_based, parent) {
            return parent.sampled;
        }
        let [_, _, _, _, _, _, _, _, low @ ..] = trace.to_bytes();
        // 63 bits, as in OpenTelemetry's own sampler.
        let place = u64::from_be_bytes(low) >> 1;
        (place as f64) < self.share * (1_u64 << 63) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(low: u64) -> TraceId {
        u128::from(low).into()
    }

    #[test]
    fn the_clients_decision_counts_unless_told_otherwise() {
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
        let parent: TraceContext = parent.parse().unwrap();
        let one = trace(1);
        assert!(!TraceSampling::ALL.is_sampled(Some(&parent), one));
        assert!(TraceSampling::ALL.is_sampled(None, one));
        let on = TraceSampling::parse("always_on", "").unwrap();
        assert!(on.is_sampled(Some(&parent), one));
        let off = TraceSampling::parse("always_off", "").unwrap();
        assert!(!off.is_sampled(None, trace(0)));
    }

    #[test]
    fn a_share_is_chosen_by_the_trace() {
        let quarter = TraceSampling::parse("parentbased_traceidratio", "0.25").unwrap();
        assert!(quarter.is_sampled(None, trace(u64::MAX / 4 - 1_000_000)));
        assert!(!quarter.is_sampled(None, trace(u64::MAX / 4 + 1_000_000)));
    }

    #[test]
    fn what_is_not_understood_is_told() {
        for (name, argument) in [
            ("jaeger_remote", ""),
            ("traceidratio", "2"),
            ("traceidratio", "x"),
        ] {
            assert_eq!(
                TraceSampling::parse(name, argument),
                None,
                "{name} {argument}"
            );
        }
        assert_eq!(TraceSampling::parse("", ""), Some(TraceSampling::ALL));
    }
}
