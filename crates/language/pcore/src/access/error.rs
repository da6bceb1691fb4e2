//! Errors of parameterizing a type: [`AccessError`].

use crate::convert::ConversionError;
use crate::describe::TypeMismatch;
use crate::types::Type;
use crate::value::SemVerRangeError;
use syntax::ast::labels::with_capital_article;

/// The arguments are not valid for the type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AccessError {
    /// The code of Puppet's issue; `None` if Puppet has none.
    pub issue: Option<&'static str>,
    pub message: String,
    /// Index of the wrong argument, counted from 0; `None` if the error concerns all of them.
    pub argument: Option<usize>,
}

impl AccessError {
    pub(super) fn new(issue: &'static str, argument: Option<usize>, message: String) -> Self {
        Self {
            issue: Some(issue),
            message,
            argument,
        }
    }

    /// An error that has no code in Puppet.
    pub(super) fn plain(message: impl Into<String>) -> Self {
        Self {
            issue: None,
            message: message.into(),
            argument: None,
        }
    }

    /// The error for a wrong number of arguments.
    pub(super) fn arity(base: &str, min: usize, max: Option<usize>, given: usize) -> Self {
        let accepted = match max {
            None => format!("{min} or more arguments"),
            Some(max) if max != min => format!("{min} to {max} arguments"),
            Some(_) if min == 1 => "1 argument".to_owned(),
            Some(_) => format!("{min} arguments"),
        };
        Self::new(
            "BAD_TYPE_SLICE_ARITY",
            None,
            format!("{base}[] accepts {accepted}. Got {given}"),
        )
    }
}

impl From<TypeMismatch> for AccessError {
    fn from(mismatch: TypeMismatch) -> Self {
        Self::plain(mismatch.to_string())
    }
}

impl From<ConversionError> for AccessError {
    fn from(error: ConversionError) -> Self {
        Self::plain(error.to_string())
    }
}

impl From<SemVerRangeError> for AccessError {
    fn from(error: SemVerRangeError) -> Self {
        Self::plain(error.to_string())
    }
}

/// Label of a type in messages: `Integer-Type`.
pub(super) fn type_label(ty: &Type) -> String {
    format!("{ty}-Type")
}

/// The label with an article, for the beginning of a sentence.
pub(super) fn type_label_uc(ty: &Type) -> String {
    with_capital_article(&type_label(ty))
}
