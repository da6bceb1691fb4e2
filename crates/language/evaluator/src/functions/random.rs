//! `fqdn_rand`: a pseudo-random number that is always the same for a node.

use std::sync::Arc;

use md5::{Digest, Md5};
use pcore::Value;

use crate::Evaluator;
use crate::error::{EvalResult, raise};
use crate::function::{CallArguments, FunctionDispatch, FunctionSpec, any, one};
use crate::mersenne::RubyRandom;
use crate::ruby;

pub(super) static FUNCTIONS: &[FunctionSpec] = &[FunctionSpec::new(
    "fqdn_rand",
    &[FunctionDispatch::new(
        &[one("Any", "max"), any("Any", "seed")],
        fqdn_rand,
    )],
)];

fn fqdn_rand(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let max = match call.get(0) {
        Value::Int(max) => *max,
        Value::Float(max) => *max as i64,
        other => leading_integer(&ruby::to_s(other)),
    };
    let name = ruby::to_s(&fully_qualified_name(evaluator)?);
    let name = if call.get(2).is_truthy() {
        name.to_lowercase()
    } else {
        name
    };
    let text = format!("{name}:{max}:{}", ruby::to_s(call.get(1)));
    let digest: [u8; 16] = Md5::digest(text.as_bytes()).into();
    match u64::try_from(max) {
        Ok(max) if max > 0 => Ok(Value::Int(
            i64::try_from(RubyRandom::new(&digest).random_below(max)).unwrap_or_default(),
        )),
        _ => raise(format!("invalid argument - {max}")),
    }
}

/// The fact `networking.fqdn`.
fn fully_qualified_name(evaluator: &Evaluator<'_>) -> EvalResult {
    let names = ["networking", "fqdn"];
    if let Some((name, walked)) = evaluator.fact_at(&names.map(Arc::from))
        && walked == names.len()
    {
        return Ok(name);
    }
    let facts = match evaluator.global("facts") {
        Some(facts) => facts,
        None => match evaluator.host().variable("facts") {
            Some(facts) => facts?,
            None => return raise("undefined method `dig' for nil:NilClass"),
        },
    };
    super::collections::walk_path(&facts, &names.map(Value::from))
}

/// Reads the leading integer of a string, as Ruby's `to_i` does.
pub(super) fn leading_integer(text: &str) -> i64 {
    let text = text.trim_start();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let end = digits
        .find(|it: char| !it.is_ascii_digit())
        .unwrap_or(digits.len());
    let number: i64 = digits[..end].parse().unwrap_or_default();
    if text.starts_with('-') {
        -number
    } else {
        number
    }
}
