//! Looks up the value at a path of a node, and its text. Main function: [`find_value`].
//!
//! Invariant: facts are compared as texts, regardless of their type (`true` is `"true"`, 8 is
//! `"8"`); an array, an object or a missing value has no text, so no comparison with it is true.

use std::borrow::Cow;

use serde_json::Value;

use super::{FactPath, FactPathStep};
use crate::NodeFacts;

/// The certname, or the value at a path below `fact` or `trusted`.
pub(crate) enum FoundFact<'a> {
    Name(&'a str),
    Value(&'a Value),
    Nothing,
}

pub(super) fn find_value<'a>(node: &'a NodeFacts, path: &FactPath) -> FoundFact<'a> {
    let (root, steps) = match path {
        FactPath::Name => return FoundFact::Name(node.certname.as_str()),
        FactPath::Fact(steps) => (&node.fact, steps),
        FactPath::Trusted(steps) => (&node.trusted, steps),
    };
    let mut at = root;
    for step in steps {
        let next = match (step, at) {
            (FactPathStep::Key(key), Value::Object(object)) => object.get(key),
            (FactPathStep::Index(index), Value::Array(array)) => array.get(*index as usize),
            _ => None,
        };
        match next {
            Some(value) => at = value,
            None => return FoundFact::Nothing,
        }
    }
    FoundFact::Value(at)
}

/// The text of the value at a path; `None` if it has none.
pub(crate) fn find_text<'a>(node: &'a NodeFacts, path: &FactPath) -> Option<Cow<'a, str>> {
    find_value(node, path).to_text()
}

impl<'a> FoundFact<'a> {
    /// The text that comparisons use.
    pub(super) fn to_text(&self) -> Option<Cow<'a, str>> {
        match self {
            Self::Name(name) => Some(Cow::Borrowed(*name)),
            Self::Value(Value::String(text)) => Some(Cow::Borrowed(text)),
            Self::Value(Value::Bool(true)) => Some(Cow::Borrowed("true")),
            Self::Value(Value::Bool(false)) => Some(Cow::Borrowed("false")),
            Self::Value(Value::Number(number)) => Some(Cow::Owned(number.to_string())),
            Self::Value(Value::Null | Value::Array(_) | Value::Object(_)) | Self::Nothing => None,
        }
    }

    /// The JSON value that explanations show.
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Name(name) => Value::String((*name).to_owned()),
            Self::Value(value) => (*value).clone(),
            Self::Nothing => Value::Null,
        }
    }
}
