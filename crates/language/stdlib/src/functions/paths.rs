//! `basename`, `dirname`, `stdlib::extname`.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one};
use evaluator::{EvalResult, Evaluator, raise};
use pcore::Value;

use crate::old_api::{OldCall, old_functions};
use crate::ruby::paths;

pub(super) static FUNCTIONS: &[FunctionSpec] = old_functions! {
    "basename" => basename;
    "dirname" => dirname;
};

pub(super) static NEW: &[FunctionSpec] = &[FunctionSpec::new(
    "stdlib::extname",
    &[FunctionDispatch::new(&[one("String", "filename")], extname).returning("String")],
)];

fn extname(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    Ok(Value::from(paths::extname(&call.text(0))))
}

fn basename(_: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    match old.arguments.as_slice() {
        [] => raise("basename(): No arguments given"),
        [_, _, _, ..] => raise(format!(
            "basename(): Too many arguments given ({})",
            old.len()
        )),
        [Value::Str(path)] => Ok(Value::from(paths::basename(path, ""))),
        [Value::Str(path), Value::Str(suffix)] => Ok(Value::from(paths::basename(path, suffix))),
        [Value::Str(_), _] => raise("basename(): Requires string as second argument"),
        _ => raise("basename(): Requires string as first argument"),
    }
}

fn dirname(_: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    match old.arguments.as_slice() {
        [] => raise("dirname(): No arguments given"),
        [_, _, ..] => raise(format!(
            "dirname(): Too many arguments given ({})",
            old.len()
        )),
        [Value::Str(path)] if path.is_empty() => {
            raise("dirname(): Requires a non-empty string as argument")
        }
        [Value::Str(path)] => Ok(Value::from(paths::dirname(path))),
        _ => raise("dirname(): Requires string as argument"),
    }
}
