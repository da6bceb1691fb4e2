//! `strftime`.

use pcore::Value;

use crate::Evaluator;
use crate::error::{EvalResult, raise};
use crate::function::{CallArguments, FunctionDispatch, FunctionSpec, one, optional};

pub(super) static FUNCTIONS: &[FunctionSpec] = &[FunctionSpec::new(
    "strftime",
    &[
        FunctionDispatch::new(
            &[one("Timespan", "time_object"), one("String", "format")],
            strftime,
        ),
        FunctionDispatch::new(
            &[
                one("Timestamp", "time_object"),
                one("String", "format"),
                optional("String", "timezone"),
            ],
            strftime,
        ),
        FunctionDispatch::new(
            &[one("String", "format"), optional("String", "timezone")],
            now,
        ),
    ],
)];

fn strftime(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let format = call.text(1);
    let text = match call.get(0) {
        Value::Timespan(length) => length.format(&format),
        Value::Timestamp(time) => time.format(&format, call.get(2).as_str()),
        _ => return Ok(Value::Undef),
    };
    text.map(Value::from)
        .or_else(|error| raise(error.to_string()))
}

fn now(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let time = evaluator.host().now()?;
    time.format(&call.text(0), call.get(1).as_str())
        .map(Value::from)
        .or_else(|error| raise(error.to_string()))
}
