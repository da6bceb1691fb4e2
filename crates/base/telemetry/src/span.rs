//! A piece of work that is over: [`Span`].

use std::borrow::Cow;
use std::time::SystemTime;

use crate::{Context, SpanId};

/// What was done, from when to when, and as a part of what.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Its own place.
    pub context: Context,
    /// The span that it is a part of.
    pub parent: Option<SpanId>,
    /// Whether that one is another program's.
    pub parent_is_remote: bool,
    /// For people.
    pub name: Cow<'static, str>,
    /// What kind.
    pub kind: SpanKind,
    /// From when.
    pub start: SystemTime,
    /// To when.
    pub end: SystemTime,
    /// What is known of it. No secrets.
    pub attributes: Vec<(&'static str, Value)>,
    /// Whether it came to a bad end.
    pub failed: bool,
}

/// Which side of a call a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// A request that was answered.
    Server,
    /// A request that was sent.
    Client,
    /// Neither.
    Internal,
}

/// What an attribute holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Text.
    Text(String),
    /// A number.
    Number(i64),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<u16> for Value {
    fn from(number: u16) -> Self {
        Self::Number(number.into())
    }
}
