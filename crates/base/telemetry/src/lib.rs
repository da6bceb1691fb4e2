//! Traces: which piece of work belongs to which request, without a word about where they are sent.
//!
//! [`Tracer`] is the handle that engines and faces are given; a [`Context`] names a place in a
//! trace and goes from one to the next, in a header, a job's row or [`current`]. The rules: a
//! [`Span`] is handed in once, when its work is over, so nothing open is kept anywhere; what is
//! not sampled costs nothing; and no attribute holds what a client chose freely (parameters,
//! output, tokens, paths): names of routes, numbers, states and certnames.

mod context;
mod current;
mod span;
mod tracer;

pub use context::{Context, InvalidTraceparent, SpanId, TraceId};
pub use current::{current, within};
pub use span::{Span, SpanKind, Value};
pub use tracer::{Begun, Sink, Tracer};
