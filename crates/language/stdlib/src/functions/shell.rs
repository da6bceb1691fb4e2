//! `shell_escape`, `shell_join`, `shell_split`.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one};
use evaluator::{EvalResult, Evaluator, raise, ruby};
use pcore::Value;

use crate::old_api::{OldCall, old_functions};
use crate::ruby::shellwords;

pub(super) static FUNCTIONS: &[FunctionSpec] = old_functions! {
    "shell_join" => shell_join;
    "shell_split" => shell_split;
};

pub(super) static ESCAPES: &[FunctionSpec] = &[
    FunctionSpec::new(
        "shell_escape",
        &[FunctionDispatch::new(&[one("Any", "string")], shell_escape)],
    ),
    FunctionSpec::new(
        "stdlib::shell_escape",
        &[FunctionDispatch::new(&[one("Any", "string")], shell_escape)],
    ),
];

fn shell_escape(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let escaped = shellwords::escape(&ruby::to_s(call.get(0)));
    evaluator.charge_bytes(escaped.len())?;
    Ok(Value::from(escaped))
}

fn shell_join(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if old.len() != 1 {
        return raise(format!(
            "shell_join(): Wrong number of arguments given ({} for 1)",
            old.len()
        ));
    }
    let Some(words) = old.list(0) else {
        return raise(format!(
            "First argument is not an Array: {}",
            ruby::inspect(old.get(0))
        ));
    };
    let mut escaped = Vec::with_capacity(words.len());
    for word in words.iter() {
        let word = shellwords::escape(&ruby::to_s(word));
        evaluator.charge_bytes(word.len() + 1)?;
        escaped.push(word);
    }
    Ok(Value::from(escaped.join(" ")))
}

fn shell_split(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if old.len() != 1 {
        return raise(format!(
            "shell_split(): Wrong number of arguments given ({} for 1)",
            old.len()
        ));
    }
    let words = shellwords::split(&ruby::to_s(old.get(0))).or_else(raise)?;
    evaluator.charge(words.len())?;
    Ok(Value::array(words.into_iter().map(Value::from).collect()))
}
