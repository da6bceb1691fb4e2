//! `[]` on values: strings, lists, hashes, objects. [`super::type_access`] has `[]` on types.

use std::sync::Arc;

use pcore::{Binary, Value};

use super::{EvalContext, Evaluator};
use crate::code::{LoweredNode, NodeId};
use crate::error::{EvalError, EvalResult, EvalUnwind};
use crate::{label, numbers};

impl Evaluator<'_> {
    #[inline(never)]
    pub(super) fn access(
        &mut self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
        left_id: NodeId,
        keys: &[NodeId],
    ) -> EvalResult {
        if let Some(fact) = self.fact_access(cx, left_id, keys) {
            return Ok(fact);
        }
        let left = self.eval(cx, left_id)?;
        if let ([key], Value::Array(_) | Value::Hash(_)) = (keys, &left) {
            let key = self.eval(cx, *key)?;
            if self.looks_ahead && key.has_unknown() {
                return Ok(self.unknown_of(&[&left, &key]).unwrap_or_default());
            }
            match (&left, &key) {
                (Value::Array(elements), Value::Int(index)) => {
                    return Ok(element(elements, *index));
                }
                (Value::Hash(entries), key) => {
                    return Ok(entries.get(key).cloned().unwrap_or_default());
                }
                _ => return self.access_value(cx, node, left_id, &left, keys, vec![key]),
            }
        }
        let values = self.unfold_keys(cx, keys)?;
        if self.looks_ahead && (left.is_unknown() || values.iter().any(Value::has_unknown)) {
            let all: Vec<&Value> = values.iter().chain([&left]).collect();
            return Ok(self.unknown_of(&all).unwrap_or_default());
        }
        self.access_value(cx, node, left_id, &left, keys, values)
    }

    fn unfold_keys(&mut self, cx: EvalContext<'_>, keys: &[NodeId]) -> EvalResult<Vec<Value>> {
        keys.iter().map(|key| self.eval(cx, *key)).collect()
    }

    fn access_value(
        &mut self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
        left_id: NodeId,
        left: &Value,
        ids: &[NodeId],
        keys: Vec<Value>,
    ) -> EvalResult {
        let blame = AccessLabel {
            cx,
            left: left_id,
            keys: ids,
        };
        match left {
            Value::Str(text) => {
                let span = self.slice(&blame, left, text.chars().count(), flatten_keys(keys))?;
                Ok(Value::from(
                    text.chars().skip(span.0).take(span.1).collect::<String>(),
                ))
            }
            Value::Binary(bytes) => {
                let bytes = bytes.bytes();
                let (from, len) = self.slice(&blame, left, bytes.len(), flatten_keys(keys))?;
                let to = from.saturating_add(len).min(bytes.len());
                let part = bytes.get(from..to).unwrap_or_default().to_vec();
                Ok(Value::Binary(Binary::new(part)))
            }
            Value::Array(elements) => self.access_list(&blame, left, elements, flatten_keys(keys)),
            Value::Hash(entries) => {
                let mut found: Vec<Value> = keys
                    .iter()
                    .map(|key| entries.get(key).cloned().unwrap_or_default())
                    .collect();
                if found.len() == 1 {
                    return Ok(found.pop().unwrap_or_default());
                }
                found.retain(|value| !value.is_undef());
                Ok(Value::array(found))
            }
            Value::Type(ty) => {
                let found = self.access_type(cx, node, ty, ids, &keys)?;
                self.check_nesting(cx, node.at, &found)?;
                Ok(found)
            }
            Value::Object(object) => {
                if let Some(result) = object.call("[]", &keys) {
                    return result
                        .map_err(|error| EvalError::without_location(error.to_string()).into());
                }
                let host = self.host;
                match host.method(self, left, "[]", &keys, None) {
                    Some(result) => result,
                    None => Err(self.no_access(&blame, left)),
                }
            }
            _ => Err(self.no_access(&blame, left)),
        }
    }

    #[cold]
    fn no_access(&self, blame: &AccessLabel<'_>, left: &Value) -> Box<EvalUnwind> {
        let text = format!(
            "Operator '[]' is not applicable to {}.",
            label::with_article(&label::value_label(left))
        );
        self.fail(blame.cx, blame.left_at(), "OPERATOR_NOT_APPLICABLE", text)
    }

    fn access_list(
        &mut self,
        blame: &AccessLabel<'_>,
        left: &Value,
        elements: &[Value],
        keys: Vec<Value>,
    ) -> EvalResult {
        match keys.as_slice() {
            [key] => {
                let index = self.list_index(blame, left, 0, key)?;
                Ok(element(elements, index))
            }
            [from, len] => {
                let from = self.list_number(blame, 0, from)?;
                let len = self.list_number(blame, 1, len)?;
                let from = self.integer_key(blame, left, 0, &from)?;
                let len = self.integer_key(blame, left, 1, &len)?;
                let (from, len) = span(elements.len(), from, len);
                let to = from.saturating_add(len).min(elements.len());
                let part = elements.get(from..to).unwrap_or_default().to_vec();
                self.charge_list(blame.cx, blame.left_at(), part.len())?;
                Ok(Value::array(part))
            }
            _ => {
                let text = format!(
                    "Array supports [] with one or two arguments. Got {}",
                    keys.len()
                );
                Err(self.fail(blame.cx, blame.left_at(), "BAD_ARRAY_SLICE_ARITY", text))
            }
        }
    }

    fn list_index(
        &self,
        blame: &AccessLabel<'_>,
        left: &Value,
        place: usize,
        key: &Value,
    ) -> EvalResult<i64> {
        let number = self.list_number(blame, place, key)?;
        self.integer_key(blame, left, place, &number)
    }

    /// Checks that a key is a number.
    fn list_number(&self, blame: &AccessLabel<'_>, place: usize, key: &Value) -> EvalResult {
        match key {
            Value::Int(_) | Value::Float(_) => Ok(key.clone()),
            other => Err(self.not_a_number_error(blame.cx, blame.key_at(place), other)),
        }
    }

    fn integer_key(
        &self,
        blame: &AccessLabel<'_>,
        left: &Value,
        place: usize,
        key: &Value,
    ) -> EvalResult<i64> {
        if let Value::Int(index) = key {
            return Ok(*index);
        }
        let text = format!(
            "{}[] cannot use {} where Integer is expected",
            label::with_capital_article(&label::value_label(left)),
            key_type(key)
        );
        Err(self.fail(blame.cx, blame.key_at(place), "BAD_SLICE_KEY_TYPE", text))
    }

    /// Resolves the keys of a string access to the start and length of the part, in characters.
    fn slice(
        &self,
        blame: &AccessLabel<'_>,
        _left: &Value,
        size: usize,
        keys: Vec<Value>,
    ) -> EvalResult<(usize, usize)> {
        match keys.as_slice() {
            [index] => {
                let index = self.text_index(blame, 0, index)?;
                let size_signed = i64::try_from(size).unwrap_or(i64::MAX);
                let from = if index < 0 {
                    size_signed + index
                } else {
                    index
                };
                Ok(match usize::try_from(from) {
                    Ok(from) if from < size => (from, 1),
                    _ => (0, 0),
                })
            }
            [from, len] => {
                let from = self.text_index(blame, 0, from)?;
                let len = self.text_index(blame, 1, len)?;
                Ok(span(size, from, len))
            }
            _ => {
                let text = format!(
                    "String supports [] with one or two arguments. Got {}",
                    keys.len()
                );
                Err(self.fail(blame.cx, blame.left_at(), "BAD_STRING_SLICE_ARITY", text))
            }
        }
    }

    /// The integer in a key: a number, or a text that is one.
    fn text_index(&self, blame: &AccessLabel<'_>, place: usize, key: &Value) -> EvalResult<i64> {
        let number = match key {
            Value::Str(text) => numbers::parse(text),
            other => Some(other.clone()),
        };
        let actual = match number {
            Some(Value::Int(index)) => return Ok(index),
            Some(other) => other,
            None => key.clone(),
        };
        let actual = key_type(&actual);
        let text = format!(
            "A substring operation does not accept {} {actual} as a character index. Expected an Integer",
            label::article(&actual)
        );
        Err(self.fail(
            blame.cx,
            blame.key_at(place),
            "BAD_STRING_SLICE_KEY_TYPE",
            text,
        ))
    }
}

/// Source locations of an access, for its error messages.
struct AccessLabel<'a> {
    cx: EvalContext<'a>,
    left: NodeId,
    keys: &'a [NodeId],
}

impl AccessLabel<'_> {
    fn left_at(&self) -> u32 {
        self.cx.unit.node(self.left).at
    }

    /// Location of a key. Keys that come from one list share the location of that list.
    fn key_at(&self, place: usize) -> u32 {
        match self.keys.get(place).or(self.keys.last()) {
            Some(key) => self.cx.unit.node(*key).at,
            None => self.left_at(),
        }
    }
}

/// The keys with lists among them replaced by their elements.
pub(super) fn flatten_keys(keys: Vec<Value>) -> Vec<Value> {
    if keys.iter().any(|key| matches!(key, Value::Array(_))) {
        crate::ruby::flatten(&keys)
    } else {
        keys
    }
}

/// The type of a key as error texts name it.
pub(super) fn key_type(key: &Value) -> String {
    match key {
        Value::Undef => "Undef".to_owned(),
        Value::Default => "Default".to_owned(),
        other => pcore::Type::infer(other).generalize().to_string(),
    }
}

/// The element at an index; a negative index counts from the end.
pub(crate) fn element(elements: &[Value], index: i64) -> Value {
    let index = if index < 0 {
        i64::try_from(elements.len()).unwrap_or(i64::MAX) + index
    } else {
        index
    };
    usize::try_from(index)
        .ok()
        .and_then(|index| elements.get(index).cloned())
        .unwrap_or_default()
}

/// The start and length of `[from, len]`: a negative `from` counts from the end, a negative `len`
/// is the last position, counted from the end.
fn span(size: usize, from: i64, len: i64) -> (usize, usize) {
    let size = i128::try_from(size).unwrap_or(i128::MAX);
    let (from, len) = (i128::from(from), i128::from(len));
    let mut from = if from < 0 { size + from } else { from };
    let mut len = if len < 0 { size - from + len + 1 } else { len };
    if from < 0 {
        len += from;
        from = 0;
    }
    match (usize::try_from(from), usize::try_from(len)) {
        (Ok(from), Ok(len)) => (from, len),
        _ => (usize::MAX, 0),
    }
}

impl Evaluator<'_> {
    /// Evaluates an expression whose value must be a type.
    pub(crate) fn type_of_node(
        &mut self,
        cx: EvalContext<'_>,
        id: NodeId,
    ) -> EvalResult<pcore::Type> {
        match self.eval(cx, id)? {
            Value::Type(ty) => Ok(ty),
            other => {
                let text = format!(
                    "Expected value of type Type, got {}",
                    pcore::Type::infer(&other).generalize()
                );
                Err(self.fail(cx, cx.unit.node(id).at, "TYPE_MISMATCH", text))
            }
        }
    }
}

/// A name without a leading `::`.
pub(super) fn relative_name(name: &str) -> Arc<str> {
    name.strip_prefix("::").unwrap_or(name).into()
}
