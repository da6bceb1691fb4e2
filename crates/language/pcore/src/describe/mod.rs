//! Descriptions of type mismatches, in Puppet's exact words, since users match on them.
//!
//! [`describe_mismatch`] describes a type, [`CallSignature`]s a call, [`describe_parameters`] the
//! parameters of a class, define, task or plan.
//!
//! Invariant: a description is made only after a check has failed, since it costs more than the
//! check.

mod call;
mod describer;
mod message;
mod mismatch;
mod parameters;
mod path;

pub use call::{CallSignature, describe_call};
pub use parameters::describe_parameters;

use crate::types::Type;
use crate::value::Value;
use path::MismatchPathStep;

/// A value is not an instance of a type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TypeMismatch {
    message: String,
}

/// Describes in lines why a type does not accept another one; empty if it does.
#[must_use]
pub fn describe_mismatch(name: &str, expected: &Type, actual: &Type) -> String {
    let errors = describer::describe(
        expected,
        actual,
        &[MismatchPathStep::Subject(name.to_owned())],
    );
    match errors.as_slice() {
        [one] => one.to_string().trim().to_owned(),
        several => lines(several),
    }
}

fn lines(errors: &[mismatch::TypeMismatchDetail]) -> String {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    texts.join("\n ")
}

/// Checks that a value is an instance of a type; `subject` begins the message.
pub fn assert_instance(subject: &str, expected: &Type, value: &Value) -> Result<(), TypeMismatch> {
    if expected.is_instance(value) {
        return Ok(());
    }
    let subject = format!("{subject} has wrong type,");
    Err(TypeMismatch {
        message: describe_mismatch(&subject, expected, &Type::infer_detailed(value)),
    })
}
