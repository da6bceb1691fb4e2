//! Metrics of the engines: [`metrics!`](crate::metrics!) declares a set of counters and gauges,
//! [`MetricsRegistry`] prints several sets in the text format of OpenMetrics.
//!
//! Invariant: a metric is declared once, with its name and its help; no label grows with the number
//! of clients or nodes.

use prometheus_client::encoding::text::encode;

pub use prometheus_client::metrics::counter::Counter;
pub use prometheus_client::metrics::family::Family;
pub use prometheus_client::metrics::gauge::Gauge;
pub use prometheus_client::registry::{Registry, Unit};

/// Content type of the text that [`MetricsRegistry::to_openmetrics`] returns.
pub const OPENMETRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A set of metrics, which share their values with the engine that counts.
pub trait MetricSet: Send + Sync {
    /// Adds each metric with its name and help.
    fn register(&self, registry: &mut Registry);
}

/// The metrics of one endpoint.
#[derive(Debug)]
pub struct MetricsRegistry {
    registry: Registry,
}

// === impl MetricsRegistry ===

impl MetricsRegistry {
    /// An empty registry; `prefix` and an underscore precede each name.
    pub fn with_prefix(prefix: &str) -> Self {
        let registry = Registry::with_prefix(prefix);
        Self { registry }
    }

    /// Adds the metrics of a set, which stay shared with its engine.
    #[must_use]
    pub fn with(mut self, set: &(impl MetricSet + ?Sized)) -> Self {
        set.register(&mut self.registry);
        self
    }

    /// All metrics with their current values, as OpenMetrics text.
    pub fn to_openmetrics(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("writing to a String does not fail");
        text
    }
}

/// Declares a struct of metrics. The documentation of a field is the help of its metric; `in` gives
/// the unit, which becomes a part of the name. A counter's name gets the suffix `_total`.
#[macro_export]
macro_rules! metrics {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $set:ident {
            $(
                $(#[doc = $help:literal])+
                $field_visibility:vis $field:ident: $metric:ty = $name:literal $(in $unit:ident)?,
            )+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Default)]
        $visibility struct $set {
            $($(#[doc = $help])+ $field_visibility $field: $metric,)+
        }

        impl $crate::metrics::MetricSet for $set {
            fn register(&self, registry: &mut $crate::metrics::Registry) {
                $(
                    // The registry puts the full stop itself.
                    let help = concat!($($help),+).trim().trim_end_matches('.');
                    let metric = self.$field.clone();
                    $crate::register_metric!(registry, $name, help, metric $(, $unit)?);
                )+
            }
        }
    };
}

/// A part of [`metrics!`](crate::metrics!).
#[doc(hidden)]
#[macro_export]
macro_rules! register_metric {
    ($registry:ident, $name:literal, $help:ident, $metric:ident) => {
        $registry.register($name, $help, $metric)
    };
    ($registry:ident, $name:literal, $help:ident, $metric:ident, $unit:ident) => {
        $registry.register_with_unit($name, $help, $crate::metrics::Unit::$unit, $metric)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::metrics! {
        /// For this test.
        struct TestMetrics {
            /// Jobs whose creation
            /// was committed.
            created: Counter = "jobs_created",
            /// Bytes of messages from clients.
            received: Gauge = "received" in Bytes,
        }
    }

    #[test]
    fn a_set_is_printed_with_its_current_values() {
        let set = TestMetrics::default();
        let registry = MetricsRegistry::with_prefix("tutti").with(&set);
        set.created.inc();
        set.received.set(7);
        let expected = "# HELP tutti_jobs_created Jobs whose creation was committed.\n\
                        # TYPE tutti_jobs_created counter\n\
                        tutti_jobs_created_total 1\n\
                        # HELP tutti_received_bytes Bytes of messages from clients.\n\
                        # TYPE tutti_received_bytes gauge\n\
                        # UNIT tutti_received_bytes bytes\n\
                        tutti_received_bytes 7\n\
                        # EOF\n";
        assert_eq!(registry.to_openmetrics(), expected);
    }
}
