//! Values that are unknown in a preview. Main type: [`UnknownResult`]; [`steps_in`] finds them in
//! values.
//!
//! Invariant: a value that is derived from unknown values names every step that they come from.

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use pcore::{Hash, PuppetObject, Type, Value};

use super::{PlanTarget, ResultSet, TaskResult};

/// Numbers of the effects that a preview showed.
pub(crate) type PreviewStepNumbers = BTreeSet<u32>;

/// Placeholder for a value of which only the originating effects are known. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownResult {
    steps: Arc<PreviewStepNumbers>,
    /// A string with placeholders in it; `None` if nothing of the value is known.
    text: Option<Arc<str>>,
}

impl UnknownResult {
    pub(crate) fn new(steps: PreviewStepNumbers, text: Option<String>) -> Self {
        Self {
            steps: Arc::new(steps),
            text: text.map(Arc::from),
        }
    }

    /// Creates the unknown result of the effect with this number.
    pub(crate) fn of(step: u32) -> Self {
        Self::new(PreviewStepNumbers::from([step]), None)
    }

    pub(crate) fn steps(&self) -> &PreviewStepNumbers {
        &self.steps
    }

    /// Returns the text that is shown, such as `<result of step 3>`.
    pub(crate) fn to_display_text(&self) -> String {
        match &self.text {
            Some(text) => text.to_string(),
            None => format!("<result of {}>", step_names(&self.steps)),
        }
    }
}

/// Formats step numbers: `step 3`, `steps 3 and 4`.
pub(crate) fn step_names(steps: &PreviewStepNumbers) -> String {
    let mut names: Vec<String> = steps.iter().map(u32::to_string).collect();
    match (names.pop(), names.is_empty()) {
        (Some(only), true) => format!("step {only}"),
        (Some(last), false) => format!("steps {} and {last}", names.join(", ")),
        (None, _) => "no step".to_owned(),
    }
}

/// Returns the steps that any part of a value comes from.
pub(crate) fn steps_in(value: &Value) -> PreviewStepNumbers {
    let mut steps = PreviewStepNumbers::new();
    collect(value, &mut steps);
    steps
}

/// Returns the steps that any part of several values comes from.
pub(crate) fn steps_in_all<'a>(values: impl IntoIterator<Item = &'a Value>) -> PreviewStepNumbers {
    let mut steps = PreviewStepNumbers::new();
    for value in values {
        collect(value, &mut steps);
    }
    steps
}

fn collect(value: &Value, steps: &mut PreviewStepNumbers) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|it| collect(it, steps)),
        Value::Hash(entries) => entries.iter().for_each(|(key, value)| {
            collect(key, steps);
            collect(value, steps);
        }),
        Value::Sensitive(inner) => collect(inner, steps),
        Value::Object(object) if object.has_unknown() => {
            let own = value.downcast_object::<UnknownResult>();
            let own = own.or_else(|| value.downcast_object::<PlanTarget>()?.unknown());
            if let Some(unknown) = own {
                steps.extend(unknown.steps());
            } else if let Some(result) = value.downcast_object::<TaskResult>() {
                collect_result(result, steps);
            } else if let Some(set) = value.downcast_object::<ResultSet>() {
                set.results()
                    .iter()
                    .for_each(|it| collect_result(it, steps));
            } else {
                collect(&Value::hash(object.init_hash()), steps);
            }
        }
        _ => {}
    }
}

fn collect_result(result: &TaskResult, steps: &mut PreviewStepNumbers) {
    let unknown = [result.unknown(), result.target().unknown()];
    unknown
        .into_iter()
        .flatten()
        .for_each(|it| steps.extend(it.steps()));
}

impl PuppetObject for UnknownResult {
    /// The type `Unit`, which fits every parameter type.
    fn object_type(&self) -> Type {
        Type::unit()
    }

    fn attribute(&self, _: &str) -> Option<Value> {
        None
    }

    fn equals(&self, other: &dyn PuppetObject) -> bool {
        other.as_any().downcast_ref::<Self>() == Some(self)
    }

    fn init_hash(&self) -> Hash {
        Hash::new()
    }

    fn text(&self) -> Option<String> {
        Some(self.to_display_text())
    }

    fn is_unknown(&self) -> bool {
        true
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_names_the_steps_that_it_comes_from() {
        let one = UnknownResult::of(3);
        assert_eq!(one.to_display_text(), "<result of step 3>");
        let both = UnknownResult::new(PreviewStepNumbers::from([1, 2, 5]), None);
        assert_eq!(both.to_display_text(), "<result of steps 1, 2 and 5>");
        let hash: Hash = [("k", Value::sensitive(Value::object(one)))]
            .into_iter()
            .collect();
        let value = Value::array(vec![Value::hash(hash), Value::object(both)]);
        assert!(value.has_unknown() && !value.is_unknown());
        assert_eq!(steps_in(&value), PreviewStepNumbers::from([1, 2, 3, 5]));
        assert!(Type::integer().is_instance(&Value::object(UnknownResult::of(1))));
    }
}
