//! Tracing: spans that connect each piece of work with the request that caused it. The export of
//! spans is not part of this crate.
//!
//! [`Tracer`] is the handle that engines and faces receive; a [`Context`] refers to a span and is
//! passed on in a header, in a job's row or by [`current`]. Invariants: a [`Span`] is recorded
//! once, when its work has ended, so no open spans are stored; a trace that is not sampled costs
//! nothing; and no attribute holds a value that a client chose freely (parameters, output, tokens,
//! paths), only names of routes, numbers, states and certnames.

mod context;
mod current;
mod span;
mod tracer;

pub use context::{Context, InvalidTraceparent, SpanId, TraceId};
pub use current::{current, within};
pub use span::{Span, SpanKind, Value};
pub use tracer::{Begun, Sink, Tracer};
