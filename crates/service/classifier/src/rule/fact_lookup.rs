//! Looks up the value at a path of a node, and its text. Main functions: [`find_value`], [`find_below`].
//!
//! Invariant: facts are compared as texts, regardless of their type (`true` is `"true"`, 8 is
//! `"8"`); an array, an object or a missing value has no text, so no comparison with it is true.

use std::borrow::Cow;

use serde_json::{Map, Value};

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
    match find_json(root, steps) {
        Some(value) => FoundFact::Value(value),
        None => FoundFact::Nothing,
    }
}

fn find_json<'v>(root: &'v Value, steps: &[FactPathStep]) -> Option<&'v Value> {
    let key = |value: &'v Value, key: &str| value.as_object()?.get(key);
    let element = |value: &'v Value, index: usize| value.as_array()?.get(index);
    find_below(root, steps, key, element)
}

/// The text of the value at `steps` below an object; `None` if it has none.
pub fn find_text_below<'v>(
    object: &'v Map<String, Value>,
    steps: &[FactPathStep],
) -> Option<Cow<'v, str>> {
    let (FactPathStep::Key(first), rest) = steps.split_first()? else {
        return None;
    };
    let value = find_json(object.get(first)?, rest)?;
    FoundFact::Value(value).to_text()
}

/// The value at `steps` below `root`, in whatever form facts are kept. `key` gets a value of an object, and `element`
/// one of an array by its index from 0.
pub fn find_below<'v, V>(
    root: &'v V,
    steps: &[FactPathStep],
    key: impl Fn(&'v V, &str) -> Option<&'v V>,
    element: impl Fn(&'v V, usize) -> Option<&'v V>,
) -> Option<&'v V> {
    steps.iter().try_fold(root, |value, step| match step {
        FactPathStep::Key(name) => key(value, name),
        FactPathStep::Index(index) => element(value, usize::try_from(*index).ok()?),
    })
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
