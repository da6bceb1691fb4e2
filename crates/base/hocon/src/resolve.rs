//! [`HoconNode`] to value: substitutions, concatenations and layered values.
//!
//! A substitution has the value of its path in the finished document; within the value of that same
//! path it has the value that was set before.

use serde_json::{Map, Value};

use crate::Error;
use crate::cursor::TextPosition;
use crate::defaults::{MAX_DEPTH, MAX_RESOLVE_STEPS, MAX_RESOLVED_BYTES};
use crate::node::{ConcatenationPiece, HoconNode, KeyPath};

pub(crate) fn resolve(root: &HoconNode) -> Result<Value, Error> {
    let mut resolver = SubstitutionResolver {
        root,
        active: Vec::new(),
        steps: 0,
        bytes: 0,
    };
    let value = resolver.resolve_node(root, &mut Vec::new())?;
    Ok(value.unwrap_or(Value::Object(Map::new())))
}

struct SubstitutionResolver<'a> {
    root: &'a HoconNode,
    /// Values that are being resolved, innermost last.
    active: Vec<ActiveValue<'a>>,
    steps: usize,
    bytes: usize,
}

/// A value with substitutions, while it is being resolved.
#[derive(Clone)]
struct ActiveValue<'a> {
    path: KeyPath,
    /// Earlier values of the same path.
    earlier: &'a [HoconNode],
}

const UNBOUNDED: &str = "the substitutions of this document multiply without bound";
const START: TextPosition = TextPosition { line: 1, column: 1 };

// === impl SubstitutionResolver ===

impl<'a> SubstitutionResolver<'a> {
    /// Returns `None` for an optional substitution whose path has no value.
    fn resolve_node(
        &mut self,
        node: &'a HoconNode,
        path: &mut KeyPath,
    ) -> Result<Option<Value>, Error> {
        self.steps += 1;
        let too_much = self.steps > MAX_RESOLVE_STEPS || self.bytes > MAX_RESOLVED_BYTES;
        if too_much || self.active.len() > MAX_DEPTH {
            return Err(START.error(UNBOUNDED));
        }
        match node {
            HoconNode::Scalar(value) => {
                self.bytes += value.as_str().map_or(0, str::len);
                Ok(Some(value.clone()))
            }
            HoconNode::Object(fields) => {
                let mut object = Map::new();
                for (key, field) in fields {
                    path.push(key.clone());
                    let value = self.resolve_node(field, path)?;
                    path.pop();
                    if let Some(value) = value {
                        object.insert(key.clone(), value);
                    }
                }
                Ok(Some(Value::Object(object)))
            }
            HoconNode::Array(items) => {
                // Items of an array have no path of their own.
                path.push("\0item".to_owned());
                let mut array = Vec::new();
                for item in items {
                    array.extend(self.resolve_node(item, path)?);
                }
                path.pop();
                Ok(Some(Value::Array(array)))
            }
            HoconNode::Layers(layers) => self.resolve_layers(layers, path),
            HoconNode::Substitution { .. } | HoconNode::Concatenation { .. } => {
                self.resolve_guarded(node, &[], path)
            }
        }
    }

    /// Puts every layer over those below it: objects merge, other values replace.
    fn resolve_layers(
        &mut self,
        layers: &'a [HoconNode],
        path: &mut KeyPath,
    ) -> Result<Option<Value>, Error> {
        let mut result = None;
        for (index, layer) in layers.iter().enumerate() {
            let value = match layer {
                HoconNode::Substitution { .. } | HoconNode::Concatenation { .. } => {
                    self.resolve_guarded(layer, &layers[..index], path)?
                }
                _ => self.resolve_node(layer, path)?,
            };
            result = match (result, value) {
                (Some(Value::Object(below)), Some(Value::Object(above))) => {
                    Some(Value::Object(merge(below, above)))
                }
                (below, None) => below,
                (_, above) => above,
            };
        }
        Ok(result)
    }

    fn resolve_guarded(
        &mut self,
        node: &'a HoconNode,
        earlier: &'a [HoconNode],
        path: &mut KeyPath,
    ) -> Result<Option<Value>, Error> {
        self.active.push(ActiveValue {
            path: path.clone(),
            earlier,
        });
        let value = match node {
            HoconNode::Substitution { path, optional, at } => {
                self.resolve_substitution(path, *optional, *at)
            }
            HoconNode::Concatenation { pieces, at } => {
                self.resolve_concatenation(pieces, *at, path)
            }
            other => self.resolve_node(other, path),
        };
        self.active.pop();
        value
    }

    fn resolve_substitution(
        &mut self,
        wanted: &KeyPath,
        optional: bool,
        at: TextPosition,
    ) -> Result<Option<Value>, Error> {
        let found = self.look_up(wanted, at)?;
        if found.is_none() && !optional {
            let name = wanted.join(".");
            return Err(at.error(format!(
                "${{{name}}} is not defined in this file (the environment is not consulted)"
            )));
        }
        Ok(found)
    }

    fn look_up(&mut self, wanted: &KeyPath, at: TextPosition) -> Result<Option<Value>, Error> {
        let own = self
            .active
            .iter()
            .rposition(|active| wanted.starts_with(&active.path));
        let Some(own) = own else {
            return self.walk(self.root, wanted, 0, at);
        };
        // Within its own value a path has the value that was set before. A value that is being
        // resolved further out must not be entered again.
        if own + 1 != self.active.len() && self.active[own].earlier.is_empty() {
            return Err(at.error(format!("${{{}}} refers to itself", wanted.join("."))));
        }
        let ActiveValue { path, earlier } = self.active[own].clone();
        let hidden = self.active.split_off(own);
        let value = self.resolve_layers(earlier, &mut path.clone());
        self.active.extend(hidden);
        Ok(value?.and_then(|value| descend(value, &wanted[path.len()..])))
    }

    /// Follows `wanted` from its `depth`th key on.
    fn walk(
        &mut self,
        node: &'a HoconNode,
        wanted: &KeyPath,
        depth: usize,
        at: TextPosition,
    ) -> Result<Option<Value>, Error> {
        match (node, wanted.get(depth)) {
            (HoconNode::Object(fields), Some(key)) => match fields.get(key) {
                Some(field) => self.walk(field, wanted, depth + 1, at),
                None => Ok(None),
            },
            _ => {
                let mut path = wanted[..depth].to_vec();
                // An object around the substitution would contain itself.
                if self
                    .active
                    .iter()
                    .any(|active| active.path.starts_with(&path))
                {
                    return Err(at.error(format!("${{{}}} contains itself", wanted.join("."))));
                }
                let value = self.resolve_node(node, &mut path)?;
                Ok(value.and_then(|value| descend(value, &wanted[depth..])))
            }
        }
    }
}

// === concatenation ===

impl<'a> SubstitutionResolver<'a> {
    fn resolve_concatenation(
        &mut self,
        pieces: &'a [ConcatenationPiece],
        at: TextPosition,
        path: &mut KeyPath,
    ) -> Result<Option<Value>, Error> {
        let mut parts = Vec::new();
        for piece in pieces {
            match piece {
                ConcatenationPiece::Text(text) => parts.push(ResolvedPart::Text(text.clone())),
                // Not added to `active` again: the concatenation has the earlier values.
                ConcatenationPiece::Value(HoconNode::Substitution { path, optional, at }) => {
                    parts.extend(
                        self.resolve_substitution(path, *optional, *at)?
                            .map(ResolvedPart::Value),
                    );
                }
                ConcatenationPiece::Value(node) => {
                    parts.extend(self.resolve_node(node, path)?.map(ResolvedPart::Value))
                }
            }
        }
        let structured = |part: &ResolvedPart| {
            matches!(
                part,
                ResolvedPart::Value(Value::Object(_) | Value::Array(_))
            )
        };
        if !parts.iter().any(structured) {
            return self.join_texts(parts, at);
        }
        // Blanks between objects or arrays have no meaning.
        parts.retain(|part| !part.is_blank());
        let mut values = parts.into_iter();
        let mut result = match values.next() {
            Some(ResolvedPart::Value(first)) => first,
            _ => return Err(mixed_types_error(at)),
        };
        for part in values {
            result = match (result, part) {
                (Value::Object(below), ResolvedPart::Value(Value::Object(above))) => {
                    Value::Object(merge(below, above))
                }
                (Value::Array(mut items), ResolvedPart::Value(Value::Array(more))) => {
                    items.extend(more);
                    Value::Array(items)
                }
                _ => return Err(mixed_types_error(at)),
            };
        }
        Ok(Some(result))
    }

    fn join_texts(
        &mut self,
        mut parts: Vec<ResolvedPart>,
        at: TextPosition,
    ) -> Result<Option<Value>, Error> {
        // Optional substitutions may leave a single value, which keeps its type.
        let said = parts.iter().filter(|part| !part.is_blank()).count();
        if said == 0
            && parts
                .iter()
                .all(|part| matches!(part, ResolvedPart::Text(_)))
        {
            return Ok(None);
        }
        if let ([ResolvedPart::Value(_)], 1) = (parts.as_slice(), said) {
            return Ok(parts.pop().and_then(ResolvedPart::into_value));
        }
        let mut text = String::new();
        for part in parts {
            match part {
                ResolvedPart::Text(piece) => text.push_str(&piece),
                ResolvedPart::Value(Value::String(piece)) => text.push_str(&piece),
                ResolvedPart::Value(other) => text.push_str(&other.to_string()),
            }
            if self.bytes + text.len() > MAX_RESOLVED_BYTES {
                return Err(at.error(UNBOUNDED));
            }
        }
        self.bytes += text.len();
        Ok(Some(Value::String(text)))
    }
}

enum ResolvedPart {
    Text(String),
    Value(Value),
}

impl ResolvedPart {
    fn is_blank(&self) -> bool {
        matches!(self, ResolvedPart::Text(text) if text.chars().all(crate::cursor::is_blank))
    }

    fn into_value(self) -> Option<Value> {
        match self {
            ResolvedPart::Value(value) => Some(value),
            ResolvedPart::Text(_) => None,
        }
    }
}

fn mixed_types_error(at: TextPosition) -> Error {
    at.error("objects, arrays and text cannot be joined with each other")
}

fn merge(mut below: Map<String, Value>, above: Map<String, Value>) -> Map<String, Value> {
    for (key, value) in above {
        let merged = match (below.get_mut(&key).map(Value::take), value) {
            (Some(Value::Object(below)), Value::Object(above)) => {
                Value::Object(merge(below, above))
            }
            (_, above) => above,
        };
        below.insert(key, merged);
    }
    below
}

fn descend(value: Value, keys: &[String]) -> Option<Value> {
    keys.iter().try_fold(value, |value, key| match value {
        Value::Object(mut fields) => fields.shift_remove(key),
        _ => None,
    })
}
