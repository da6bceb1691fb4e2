//! `pick` and `pick_default`: the first value that is defined and not empty.

use evaluator::function::FunctionSpec;
use evaluator::{EvalResult, Evaluator, raise, ruby};
use pcore::Value;

use crate::old_api::{OldCall, old_functions};

pub(super) static FUNCTIONS: &[FunctionSpec] = old_functions! {
    "pick" => pick;
    "pick_default" => pick_default;
};

fn is_there(value: &Value) -> bool {
    !value.is_undef() && value.as_str() != Some("")
}

fn pick(_: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    match old.arguments.iter().find(|it| is_there(it)) {
        Some(value) if !ruby::to_s(value).is_empty() => Ok(value.clone()),
        _ => raise("pick(): must receive at least one non empty value"),
    }
}

/// An `undef` in the last position is an empty text here.
fn pick_default(_: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    let Some((default, rest)) = old.arguments.split_last() else {
        return raise("Must receive at least one argument.");
    };
    Ok(rest
        .iter()
        .find(|it| is_there(it))
        .unwrap_or(default)
        .clone())
}
