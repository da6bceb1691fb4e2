//! A document before its substitutions are resolved, and the merging of values that are set
//! repeatedly: [`HoconNode`].

use indexmap::IndexMap;
use serde_json::Value;

use crate::cursor::TextPosition;

pub(crate) type KeyPath = Vec<String>;

#[derive(Debug, Clone)]
pub(crate) enum HoconNode {
    /// A string, number, boolean or null.
    Scalar(Value),
    Object(IndexMap<String, HoconNode>),
    Array(Vec<HoconNode>),
    Substitution {
        path: KeyPath,
        optional: bool,
        at: TextPosition,
    },
    /// Adjacent pieces of one value.
    Concatenation {
        pieces: Vec<ConcatenationPiece>,
        at: TextPosition,
    },
    /// Values of one key in the order in which they were set, if the last one alone does not
    /// determine the result.
    Layers(Vec<HoconNode>),
}

/// A piece of a concatenation.
#[derive(Debug, Clone)]
pub(crate) enum ConcatenationPiece {
    /// Text as written: numbers keep their form, blanks between words count.
    Text(String),
    Value(HoconNode),
}

impl HoconNode {
    /// Sets `path` below this object to `value`.
    pub(crate) fn set(&mut self, path: &[String], value: HoconNode) {
        let (HoconNode::Object(fields), Some((key, below))) = (&mut *self, path.split_first())
        else {
            // An empty path does not occur, and only objects have keys.
            return;
        };
        let value = below.iter().rev().fold(value, |inner, key| {
            HoconNode::Object(IndexMap::from([(key.clone(), inner)]))
        });
        match fields.get_mut(key) {
            Some(earlier) => earlier.override_by(value),
            None => {
                fields.insert(key.clone(), value);
            }
        }
    }

    /// Sets this value again: objects merge, other values replace it.
    pub(crate) fn override_by(&mut self, later: HoconNode) {
        match (&mut *self, later) {
            (HoconNode::Object(fields), HoconNode::Object(later)) => {
                for (key, value) in later {
                    match fields.get_mut(&key) {
                        Some(earlier) => earlier.override_by(value),
                        None => {
                            fields.insert(key, value);
                        }
                    }
                }
            }
            (_, later @ (HoconNode::Scalar(_) | HoconNode::Array(_))) => *self = later,
            // An object replaces a plain value, but may be merged with the value of a substitution.
            (HoconNode::Scalar(_) | HoconNode::Array(_), later @ HoconNode::Object(_)) => {
                *self = later
            }
            (HoconNode::Layers(layers), later) => layers.push(later),
            (_, later) => {
                let earlier = std::mem::replace(self, HoconNode::Scalar(Value::Null));
                *self = HoconNode::Layers(vec![earlier, later]);
            }
        }
    }
}
