//! `time`: seconds since 1970, from the host's clock.

use evaluator::function::{Call, Form, Function, any, optional};
use evaluator::{Eval, Evaluator, raise};
use pcore::Value;

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("time", &[Form::new(&[any("Any", "args")], time)]),
    Function::new(
        "stdlib::time",
        &[Form::new(&[optional("Optional[String]", "_timezone")], time).returning("Integer")],
    ),
];

/// A time zone does not change what is counted.
fn time(evaluator: &mut Evaluator<'_>, call: Call<'_>) -> Eval {
    if call.len() > 1 {
        return raise(format!(
            "time(): Wrong number of arguments given {} for 0 or 1",
            call.len()
        ));
    }
    Ok(Value::Int(evaluator.host().now()?.whole_seconds()))
}
