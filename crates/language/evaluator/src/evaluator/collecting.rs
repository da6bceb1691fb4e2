//! `+`, `-` and `<<` on lists and hashes, and `+` on URIs and bytes.

use pcore::{Binary, Hash, Value};
use syntax::ast::BinaryOp;

use super::{EvalContext, Evaluator};
use crate::error::{EvalResult, raise};

impl Evaluator<'_> {
    pub(super) fn collect(
        &mut self,
        cx: EvalContext<'_>,
        at: u32,
        operator: BinaryOp,
        left: &Value,
        right: Value,
    ) -> EvalResult {
        match (left, operator) {
            (Value::Array(elements), BinaryOp::ShiftLeft) => {
                self.charge_list(cx, at, elements.len() + 1)?;
                let mut joined = Vec::with_capacity(elements.len() + 1);
                joined.extend_from_slice(elements);
                joined.push(right);
                Ok(Value::array(joined))
            }
            (Value::Array(elements), BinaryOp::Add) => {
                let more = list_of(right);
                self.charge_list(cx, at, elements.len() + more.len())?;
                let mut joined = Vec::with_capacity(elements.len() + more.len());
                joined.extend_from_slice(elements);
                joined.extend(more);
                Ok(Value::array(joined))
            }
            (Value::Array(elements), _) => {
                let gone = list_of(right);
                self.charge_list(cx, at, elements.len() + gone.len())?;
                let kept = without(elements, &gone);
                Ok(Value::array(kept))
            }
            (Value::Hash(entries), BinaryOp::Add) => {
                let more = merged(right)?;
                self.charge_list(cx, at, (entries.len() + more.len()) * 2)?;
                let mut joined = Hash::clone(entries);
                joined.extend(more);
                Ok(Value::hash(joined))
            }
            (Value::Hash(entries), _) => {
                self.charge_list(cx, at, entries.len() * 2)?;
                let mut kept = Hash::clone(entries);
                match right {
                    Value::Array(keys) => keys.iter().for_each(|key| drop(kept.remove(key))),
                    Value::Hash(other) => other.keys().for_each(|key| drop(kept.remove(key))),
                    key => drop(kept.remove(&key)),
                }
                Ok(Value::hash(kept))
            }
            (Value::Uri(base), _) => match &right {
                Value::Uri(other) => merged_uri(base, &other.to_string()),
                Value::Str(text) => merged_uri(base, text),
                _ => raise("An URI can only be merged with an URI or String"),
            },
            (Value::Binary(bytes), _) => match &right {
                Value::Binary(more) => {
                    self.charge_text(cx, at, bytes.bytes().len() + more.bytes().len())?;
                    let joined = [bytes.bytes(), more.bytes()].concat();
                    Ok(Value::Binary(Binary::new(joined)))
                }
                _ => raise("Can only append Binary to a Binary"),
            },
            _ => Ok(Value::Undef),
        }
    }
}

/// The right operand of a list's `+` or `-`, as a list.
fn list_of(value: Value) -> Vec<Value> {
    match value {
        Value::Array(elements) => elements.to_vec(),
        Value::Hash(entries) => pairs(&entries),
        other => vec![other],
    }
}

/// The entries of a hash as pairs.
pub(crate) fn pairs(entries: &Hash) -> Vec<Value> {
    entries
        .iter()
        .map(|(key, value)| Value::array(vec![key.clone(), value.clone()]))
        .collect()
}

/// Resolves a reference relative to a URI.
fn merged_uri(base: &pcore::Uri, reference: &str) -> EvalResult {
    match crate::uri::merge(base, reference) {
        Ok(uri) => Ok(Value::Uri(std::sync::Arc::new(uri))),
        Err(error) => raise(error.to_string()),
    }
}

/// Ruby's `Array#delete` of each element, which compares by `==`, so `1` equals `1.0`.
fn without(elements: &[Value], gone: &[Value]) -> Vec<Value> {
    elements
        .iter()
        .filter(|element| !gone.iter().any(|it| crate::ruby::equal(element, it)))
        .cloned()
        .collect()
}

/// Converts the right operand of `+` to a hash, to be merged into the left one.
fn merged(value: Value) -> EvalResult<Hash> {
    match value {
        Value::Hash(entries) => Ok(Hash::clone(&entries)),
        Value::Array(elements) => {
            let are_pairs =
                !elements.is_empty() && elements.iter().all(|it| matches!(it, Value::Array(_)));
            if are_pairs {
                return pairs_to_hash(&elements);
            }
            // Ruby's `Hash[…]` of a single hash is that hash.
            if let [Value::Hash(only)] = &elements[..] {
                return Ok(Hash::clone(only));
            }
            if elements.len() % 2 != 0 {
                return raise("odd number of arguments for Hash");
            }
            Ok(elements
                .chunks_exact(2)
                .map(|pair| (pair[0].clone(), pair[1].clone()))
                .collect())
        }
        _ => raise("Can only append Array or Hash to a Hash"),
    }
}

fn pairs_to_hash(elements: &[Value]) -> EvalResult<Hash> {
    let mut hash = Hash::with_capacity(elements.len());
    for (index, element) in elements.iter().enumerate() {
        let pair = element.as_array().unwrap_or_default();
        let [key, value] = pair else {
            return raise(format!(
                "wrong array length at {index} (expected 2, was {})",
                pair.len()
            ));
        };
        hash.insert(key.clone(), value.clone());
    }
    Ok(hash)
}
