//! Finished pieces of work in a trace: [`TraceSpan`].

use std::borrow::Cow;
use std::time::SystemTime;

use crate::{SpanId, TraceContext};

/// A finished piece of work, with its time and its parent.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSpan {
    /// Trace and id of this span.
    pub context: TraceContext,
    /// Id of the parent span; `None` for the first span of a trace.
    pub parent: Option<SpanId>,
    /// True if the parent span belongs to another program.
    pub parent_is_remote: bool,
    /// Name that trace viewers show.
    pub name: Cow<'static, str>,
    /// Side of the call that the span describes.
    pub kind: SpanKind,
    /// Start time of the work.
    pub start: SystemTime,
    /// End time of the work; not before `start`.
    pub end: SystemTime,
    /// Attributes by name. They never hold secrets.
    pub attributes: Vec<(&'static str, AttributeValue)>,
    /// True if the work failed.
    pub failed: bool,
}

/// Side of a call that a span describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// A request that this program answered.
    Server,
    /// A request that this program sent.
    Client,
    /// Work inside this program.
    Internal,
}

/// Value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeValue {
    /// Text, such as a name or state.
    Text(String),
    /// A number, such as a count.
    Number(i64),
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<usize> for AttributeValue {
    fn from(number: usize) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<u16> for AttributeValue {
    fn from(number: u16) -> Self {
        Self::Number(number.into())
    }
}
