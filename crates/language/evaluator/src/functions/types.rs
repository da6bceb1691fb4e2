//! `type`, `assert_type`, `new`, `convert_to`, `unwrap`.

use pcore::{Type, TypeKind, Value};

use crate::Evaluator;
use crate::error::{EvalResult, raise};
use crate::function::{CallArguments, FunctionDispatch, FunctionSpec, any, one, optional};
use crate::mismatch;

const TYPES: &str = "Callable[Type, Type]";

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new(
        "type",
        &[
            FunctionDispatch::new(
                &[
                    one("Any", "value"),
                    optional("Enum[detailed]", "inference_method"),
                ],
                detailed,
            ),
            FunctionDispatch::new(
                &[
                    one("Any", "value"),
                    one("Enum[reduced]", "inference_method"),
                ],
                reduced,
            ),
            FunctionDispatch::new(
                &[
                    one("Any", "value"),
                    one("Enum[generalized]", "inference_method"),
                ],
                generalized,
            ),
        ],
    ),
    FunctionSpec::new(
        "assert_type",
        &[
            FunctionDispatch::new(&[one("Type", "type"), one("Any", "value")], assert_type)
                .with_optional_block(TYPES),
            FunctionDispatch::new(
                &[one("String", "type_string"), one("Any", "value")],
                assert_type,
            )
            .with_optional_block(TYPES),
        ],
    ),
    FunctionSpec::new(
        "new",
        &[
            FunctionDispatch::new(&[one("Type", "type"), any("Any", "args")], new)
                .with_optional_block(""),
        ],
    ),
    FunctionSpec::new(
        "convert_to",
        &[FunctionDispatch::new(
            &[one("Any", "value"), one("Type", "type"), any("Any", "args")],
            convert_to,
        )
        .with_optional_block("Callable[1,1]")],
    ),
    FunctionSpec::new(
        "unwrap",
        &[
            FunctionDispatch::new(&[one("Sensitive", "arg")], unwrap).with_optional_block(""),
            FunctionDispatch::new(&[one("Any", "arg")], unwrap).with_optional_block(""),
        ],
    ),
];

fn detailed(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    Ok(Value::Type(Type::infer_detailed(call.get(0))))
}

fn reduced(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    Ok(Value::Type(Type::infer(call.get(0))))
}

fn generalized(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    Ok(Value::Type(Type::infer(call.get(0)).generalize()))
}

fn assert_type(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    let ty = match call.take(0) {
        Value::Type(ty) => ty,
        other => evaluator.parse_type(other.as_str().unwrap_or_default(), &[])?,
    };
    let value = call.take(1);
    if ty.is_instance(&value) {
        return Ok(value);
    }
    match call.block {
        Some(block) => {
            let inferred = Type::infer_detailed(&value);
            evaluator.call_block(block, [Value::Type(ty), Value::Type(inferred)])
        }
        None => raise(mismatch::value_mismatch("assert_type():", &ty, &value)),
    }
}

fn new(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    let ty = match call.take(0) {
        Value::Type(ty) => ty,
        _ => Type::any(),
    };
    call.arguments.remove(0);
    let value = make_value(evaluator, &ty, call.arguments)?;
    match call.block {
        Some(block) => evaluator.call_block(block, [value]),
        None => Ok(value),
    }
}

fn convert_to(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    let ty = match call.take(1) {
        Value::Type(ty) => ty,
        _ => Type::any(),
    };
    call.arguments.remove(1);
    let value = make_value(evaluator, &ty, call.arguments)?;
    match call.block {
        Some(block) => evaluator.call_block(block, [value]),
        None => Ok(value),
    }
}

/// Creates a value of a type from arguments. Host types create their own objects.
pub(super) fn make_value(
    evaluator: &mut Evaluator<'_>,
    ty: &Type,
    arguments: Vec<Value>,
) -> EvalResult {
    if let Some(result) = evaluator.host().construct(ty, &arguments) {
        evaluator.pin(&arguments);
        return result;
    }
    if arguments.is_empty()
        && matches!(ty.unaliased().map(Type::kind), Some(TypeKind::Timestamp(_)))
    {
        return Ok(Value::Timestamp(evaluator.host().now()?));
    }
    match pcore::new_instance(ty, &arguments) {
        Ok(value) => Ok(value),
        Err(error) => raise(error.to_string()),
    }
}

fn unwrap(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    let value = match call.take(0) {
        Value::Sensitive(inner) => {
            evaluator.pin(std::slice::from_ref(&inner));
            evaluator.host().unwrapped(&inner);
            Value::clone(&inner)
        }
        other => other,
    };
    match call.block {
        Some(block) => evaluator.call_block_with(block, vec![value]),
        None => Ok(value),
    }
}
