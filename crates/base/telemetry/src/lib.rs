//! Metrics, and tracing: spans that connect each piece of work with the request that caused it. The
//! export of spans is not part of this crate.
//!
//! [`MetricsRegistry`](metrics::MetricsRegistry) prints what the engines count. [`Tracer`] is the
//! handle that engines and faces receive; a [`TraceContext`] refers to a span and is passed on in a
//! header, in a job's row or by [`current`]. Invariants: a [`TraceSpan`] is recorded once, when its
//! work has ended, so no open spans are stored; a trace that is not sampled costs nothing; and no
//! attribute holds a value that a client chose freely (parameters, output, tokens, paths), only
//! names of routes, numbers, states and certnames.

mod context;
mod current;
pub mod metrics;
mod span;
mod tracer;

pub use context::{InvalidTraceparent, TraceContext};
pub use current::{current, run_within};
pub use opentelemetry::trace::{SpanId, TraceId};
pub use span::{AttributeValue, SpanKind, TraceSpan};
pub use tracer::{SpanSink, StartedSpan, Tracer};
