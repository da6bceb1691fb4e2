//! `time`: seconds since 1970, from the host's clock.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, any, optional};
use evaluator::{EvalResult, Evaluator, raise};
use pcore::Value;

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new(
        "time",
        &[FunctionDispatch::new(&[any("Any", "args")], time)],
    ),
    FunctionSpec::new(
        "stdlib::time",
        &[
            FunctionDispatch::new(&[optional("Optional[String]", "_timezone")], time)
                .returning("Integer"),
        ],
    ),
];

/// A time zone does not affect the result.
fn time(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    if call.len() > 1 {
        return raise(format!(
            "time(): Wrong number of arguments given {} for 0 or 1",
            call.len()
        ));
    }
    Ok(Value::Int(evaluator.host().now()?.whole_seconds()))
}
