//! The steps of a preview that the unknown parts of a value come from: [`steps_in`].

use pcore::Value;

use super::result::TaskResult;
use super::result_set::ResultSet;
use super::target::PlanTarget;
use super::unknown::{PreviewStepNumbers, UnknownResult};

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

#[cfg(test)]
mod tests {
    use pcore::{Hash, Type};

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
