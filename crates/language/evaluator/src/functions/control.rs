//! Functions for control flow, `break`, `next` and `return`; and `call`, which calls a function by
//! name.

use pcore::Value;

use crate::Evaluator;
use crate::error::{ControlJump, EvalResult, EvalUnwind, raise};
use crate::function::{
    CallArguments, FunctionDispatch, FunctionSpec, NativeFunction, any, one, optional,
};
use crate::ruby;

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new("break", &[FunctionDispatch::new(&[], break_)]),
    FunctionSpec::new(
        "next",
        &[FunctionDispatch::new(&[optional("Any", "value")], next)],
    ),
    FunctionSpec::new(
        "return",
        &[FunctionDispatch::new(&[optional("Any", "value")], return_)],
    ),
    FunctionSpec::new(
        "fail",
        &[FunctionDispatch::new(&[any("Any", "values")], fail).with_optional_block("")],
    ),
    FunctionSpec::new(
        "call",
        &[
            FunctionDispatch::new(
                &[one("String", "function_name"), any("Any", "arguments")],
                call,
            )
            .with_optional_block(""),
            FunctionDispatch::new(&[one("Deferred", "deferred")], super::deferred::resolve),
        ],
    ),
];

fn jump(call: &CallArguments<'_>, value: Value) -> ControlJump {
    ControlJump {
        value,
        location: call.location(),
    }
}

fn break_(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    Err(Box::new(EvalUnwind::Break(jump(&call, Value::Undef))))
}

fn next(_: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    let value = call.take(0);
    Err(Box::new(EvalUnwind::Next(jump(&call, value))))
}

fn return_(_: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    let value = call.take(0);
    Err(Box::new(EvalUnwind::Return(jump(&call, value))))
}

fn fail(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let mut words = Vec::with_capacity(call.len());
    for word in &call.arguments {
        words.push(ruby::to_s(&evaluator.old_argument(word)?));
    }
    raise(words.join(" "))
}

fn call(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    let name = call.text(0);
    call.arguments.remove(0);
    let native = NativeFunction::core(&name);
    if native.is_none() && !evaluator.knows_function(call.cx, &name)? {
        return raise(format!("Unknown function '{name}'"));
    }
    evaluator.call_named(call.cx, call.at, native, &name, call.arguments, call.block)
}
