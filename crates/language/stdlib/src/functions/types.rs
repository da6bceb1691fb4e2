//! `type_of`, `is_a`, `type3x`, and tests for the existence of functions.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, any, one};
use evaluator::{EvalResult, Evaluator, raise};
use pcore::{Type, Value, ruby_float};

use crate::old_api::{OldCall, old_functions};
use crate::ruby::numbers::{to_f, to_i};

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new(
        "type_of",
        &[FunctionDispatch::new(&[one("Any", "value")], type_of)],
    ),
    FunctionSpec::new(
        "stdlib::type_of",
        &[FunctionDispatch::new(&[one("Any", "value")], type_of)],
    ),
    FunctionSpec::new(
        "is_a",
        &[FunctionDispatch::new(
            &[one("Any", "value"), one("Type", "type")],
            is_a,
        )],
    ),
    FunctionSpec::new(
        "stdlib::has_function",
        &[
            FunctionDispatch::new(&[one("String[1]", "function_name")], has_function)
                .returning("Boolean"),
        ],
    ),
    FunctionSpec::new(
        "is_function_available",
        &[FunctionDispatch::new(
            &[any("Any", "args")],
            is_function_available,
        )],
    ),
];

pub(super) static OLD: &[FunctionSpec] = old_functions! {
    "type3x" => type3x;
};

fn type_of(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    Ok(Value::Type(Type::infer_detailed(call.get(0))))
}

fn is_a(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let ty = call.get(1).as_type();
    Ok(Value::Bool(
        ty.is_some_and(|ty| ty.is_instance(call.get(0))),
    ))
}

fn has_function(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    call.knows_function(evaluator, &call.text(0))
        .map(Value::Bool)
}

fn is_function_available(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    if call.len() != 1 {
        return raise(format!(
            "is_function_available?(): Wrong number of arguments given {} for 1",
            call.len()
        ));
    }
    match call.get(0) {
        Value::Str(name) => call.knows_function(evaluator, name).map(Value::Bool),
        _ => Ok(Value::Bool(false)),
    }
}

fn type3x(_: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if old.len() != 1 {
        return raise(format!(
            "type3x(): Wrong number of arguments given ({} for 1)",
            old.len()
        ));
    }
    Ok(Value::from(match old.get(0) {
        Value::Bool(_) => "boolean",
        Value::Array(_) => "array",
        Value::Hash(_) => "hash",
        Value::Int(_) => "integer",
        Value::Float(_) => "float",
        Value::Str(text) if **text == *to_i(text).to_string() => "integer",
        Value::Str(text) if **text == *ruby_float(to_f(text)) => "float",
        Value::Str(_) => "string",
        _ => return raise("type3x(): Unknown type"),
    }))
}
