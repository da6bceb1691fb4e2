//! `md5`, `sha1`, `sha256`, `digest`.

use std::fmt::Write;

use md5::Md5;
use pcore::Value;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::Evaluator;
use crate::error::{EvalResult, raise};
use crate::function::{CallArguments, FunctionDispatch, FunctionSpec, one};
use crate::label;

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new("md5", &[FunctionDispatch::new(&[one("Any", "text")], md5)]),
    FunctionSpec::new(
        "sha1",
        &[FunctionDispatch::new(&[one("Any", "text")], sha1)],
    ),
    FunctionSpec::new(
        "sha256",
        &[FunctionDispatch::new(&[one("Any", "text")], sha256)],
    ),
    // Puppet 8 uses the setting `digest_algorithm`, which is SHA-256 by default.
    FunctionSpec::new(
        "digest",
        &[FunctionDispatch::new(&[one("Any", "text")], sha256)],
    ),
];

/// Converts the argument to a string as Ruby does here.
fn digest_argument(evaluator: &Evaluator<'_>, call: &CallArguments<'_>) -> EvalResult<String> {
    match evaluator.old_argument(call.get(0))? {
        Value::Str(text) => Ok(text.to_string()),
        Value::Bool(flag) => raise(format!("no implicit conversion of {flag} into String")),
        other => raise(format!(
            "no implicit conversion of {} into String",
            label::ruby_class(&other)
        )),
    }
}

fn md5(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    Ok(Value::from(hex(&Md5::digest(
        digest_argument(evaluator, &call)?.as_bytes(),
    ))))
}

fn sha1(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    Ok(Value::from(hex(&Sha1::digest(
        digest_argument(evaluator, &call)?.as_bytes(),
    ))))
}

fn sha256(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    Ok(Value::from(hex(&Sha256::digest(
        digest_argument(evaluator, &call)?.as_bytes(),
    ))))
}

/// Formats a digest in hexadecimal digits.
fn hex(digest: &[u8]) -> String {
    digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
