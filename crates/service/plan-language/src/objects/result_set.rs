//! The results of an action on several targets. Main type: [`ResultSet`].
//!
//! Invariant: results are in the order of the targets of the call; a set of an action has one for
//! each of them.

use std::any::Any;
use std::sync::Arc;

use pcore::{Hash, ObjectError, PuppetObject, Type, Value};

use super::result::TaskResult;
use crate::types;

/// The language's `ResultSet`. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResultSet(Arc<Vec<Arc<TaskResult>>>);

impl ResultSet {
    pub(crate) fn new(results: impl IntoIterator<Item = TaskResult>) -> Self {
        Self(Arc::new(results.into_iter().map(Arc::new).collect()))
    }

    pub(crate) fn results(&self) -> &[Arc<TaskResult>] {
        &self.0
    }

    pub(crate) fn failures(&self) -> usize {
        self.0.iter().filter(|it| !it.is_ok()).count()
    }

    pub(crate) fn result_value(result: &Arc<TaskResult>) -> Value {
        let object: Arc<dyn PuppetObject> = result.clone();
        Value::Object(object)
    }

    /// Returns true if it is unknown for which targets there will be results.
    pub(crate) fn has_unknown_targets(&self) -> bool {
        self.0.iter().any(|it| it.target().unknown().is_some())
    }

    /// Returns the results that fulfil the predicate.
    pub(crate) fn filtered(&self, keep: impl Fn(&TaskResult) -> bool) -> Self {
        Self(Arc::new(
            self.0.iter().filter(|it| keep(it)).cloned().collect(),
        ))
    }

    /// Returns the results whose flag at the same index is true.
    pub(crate) fn filtered_by_mask(&self, keep: &[bool]) -> Self {
        let kept = self.0.iter().zip(keep).filter(|(_, keep)| **keep);
        Self(Arc::new(kept.map(|(result, _)| result.clone()).collect()))
    }

    fn values(&self) -> Vec<Value> {
        self.0.iter().map(Self::result_value).collect()
    }

    fn named(&self, name: &str) -> Value {
        let found = self.0.iter().find(|it| **it.target().name() == *name);
        found.map(Self::result_value).unwrap_or_default()
    }

    fn at(&self, index: i64) -> Value {
        let len = i64::try_from(self.0.len()).unwrap_or(i64::MAX);
        let index = if index < 0 { index + len } else { index };
        let found = usize::try_from(index).ok().and_then(|it| self.0.get(it));
        found.map(Self::result_value).unwrap_or_default()
    }

    /// Returns the results between two indices, both inclusive; negative indices count from the
    /// end. `undef` if the first index is out of range.
    fn between(&self, from: i64, to: i64) -> Value {
        let len = i64::try_from(self.0.len()).unwrap_or(i64::MAX);
        let place = |index: i64| if index < 0 { index + len } else { index };
        let (from, to) = (place(from), place(to).min(len - 1));
        if !(0..=len).contains(&from) {
            return Value::Undef;
        }
        let places = (from..=to).filter_map(|it| usize::try_from(it).ok());
        let results = places.filter_map(|it| self.0.get(it));
        Value::array(results.map(Self::result_value).collect())
    }
}

impl PuppetObject for ResultSet {
    fn object_type(&self) -> Type {
        types::result_set()
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        let targets = || self.0.iter().map(|it| it.target());
        Some(match name {
            "count" => Value::Int(i64::try_from(self.0.len()).unwrap_or(i64::MAX)),
            "empty" => Value::Bool(self.0.is_empty()),
            "ok" => Value::Bool(self.failures() == 0),
            "ok_set" => Value::object(self.filtered(TaskResult::is_ok)),
            "error_set" => Value::object(self.filtered(|it| !it.is_ok())),
            "first" => self.0.first().map(Self::result_value).unwrap_or_default(),
            "results" => Value::array(self.values()),
            "names" => Value::array(targets().map(|it| Value::Str(it.name().clone())).collect()),
            "targets" => Value::array(targets().map(|it| Value::object(it.clone())).collect()),
            "to_data" => {
                let data = self.0.iter().map(|it| it.data());
                Value::array(data.collect())
            }
            _ => return None,
        })
    }

    fn call(&self, method: &str, arguments: &[Value]) -> Option<Result<Value, ObjectError>> {
        Some(Ok(match (method, arguments) {
            ("find", [Value::Str(name)]) => self.named(name),
            ("[]", [Value::Int(index)]) => self.at(*index),
            ("[]", [Value::Int(from), Value::Int(to)]) => self.between(*from, *to),
            _ => return None,
        }))
    }

    fn equals(&self, other: &dyn PuppetObject) -> bool {
        let other = other.as_any().downcast_ref::<Self>();
        other.is_some_and(|other| {
            let both = self.0.iter().zip(other.0.iter());
            self.0.len() == other.0.len() && both.into_iter().all(|(a, b)| a.equals(&**b))
        })
    }

    fn init_hash(&self) -> Hash {
        [("results", Value::array(self.values()))]
            .into_iter()
            .collect()
    }

    fn elements(&self) -> Option<Vec<Value>> {
        Some(self.values())
    }

    fn text(&self) -> Option<String> {
        let data: serde_json::Value = self.0.iter().map(|it| it.to_data()).collect();
        Some(data.to_string())
    }

    fn has_unknown(&self) -> bool {
        self.0.iter().any(|it| it.has_unknown())
    }

    fn is_of_host(&self) -> bool {
        true
    }

    fn held_values(&self) -> Vec<&Value> {
        let results = self.0.iter();
        results.flat_map(|result| result.held_values()).collect()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
