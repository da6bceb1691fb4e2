//! A document before its substitutions are resolved: [`Node`], and what happens
//! when a key is set twice.

use indexmap::IndexMap;
use serde_json::Value;

use crate::cursor::Position;

pub(crate) type Path = Vec<String>;

#[derive(Debug, Clone)]
pub(crate) enum Node {
    /// A string, number, boolean or null.
    Scalar(Value),
    Object(IndexMap<String, Node>),
    Array(Vec<Node>),
    Substitution {
        path: Path,
        optional: bool,
        at: Position,
    },
    /// Pieces of one value that stand side by side.
    Concatenation {
        pieces: Vec<Piece>,
        at: Position,
    },
    /// Values of one key in the order in which they were set, where the last
    /// one alone does not decide.
    Layers(Vec<Node>),
}

/// A piece of a concatenation.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    /// Text as written: numbers keep their form, blanks between words count.
    Text(String),
    Value(Node),
}

impl Node {
    /// Sets `path` below this object to `value`.
    pub(crate) fn set(&mut self, path: &[String], value: Node) {
        let (Node::Object(fields), Some((key, below))) = (&mut *self, path.split_first()) else {
            // An empty path does not occur, and only objects have keys.
            return;
        };
        let value = below.iter().rev().fold(value, |inner, key| {
            Node::Object(IndexMap::from([(key.clone(), inner)]))
        });
        match fields.get_mut(key) {
            Some(earlier) => earlier.override_by(value),
            None => {
                fields.insert(key.clone(), value);
            }
        }
    }

    /// Sets this value once more.
    pub(crate) fn override_by(&mut self, later: Node) {
        match (&mut *self, later) {
            (Node::Object(fields), Node::Object(later)) => {
                for (key, value) in later {
                    match fields.get_mut(&key) {
                        Some(earlier) => earlier.override_by(value),
                        None => {
                            fields.insert(key, value);
                        }
                    }
                }
            }
            (_, later @ (Node::Scalar(_) | Node::Array(_))) => *self = later,
            // An object replaces a plain value, but may be merged with what a
            // substitution gives.
            (Node::Scalar(_) | Node::Array(_), later @ Node::Object(_)) => *self = later,
            (Node::Layers(layers), later) => layers.push(later),
            (_, later) => {
                let earlier = std::mem::replace(self, Node::Scalar(Value::Null));
                *self = Node::Layers(vec![earlier, later]);
            }
        }
    }
}
