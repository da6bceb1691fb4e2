//! Errors of conversions to a type. Main type: [`ConversionError`].

use crate::defaults::CONVERTED_ELEMENTS_MAX;
use crate::describe::TypeMismatch;
use crate::format::FormatError;
use crate::time::TimeError;
use crate::types::Type;
use crate::value::{PuppetUriError, SemVerError, SemVerRangeError};

/// A value could not be converted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConversionError {
    #[error("Creation of new instance of type '{0}' is not supported")]
    Unsupported(String),
    /// The constructor does not accept the arguments.
    #[error("{0}")]
    Arguments(String),
    #[error("The string '{text}' cannot be converted to {to}")]
    Text { text: String, to: &'static str },
    #[error("Value of type {from} cannot be converted to {to}")]
    Value { from: String, to: &'static str },
    #[error("invalid value for {function}: {text}")]
    Number {
        function: &'static str,
        text: String,
    },
    #[error("Illegal radix: {0}, expected 2, 8, 10, 16, or default")]
    Radix(String),
    #[error("the number {0} does not fit into 64 bits")]
    TooLarge(String),
    #[error("the time of day is not known here")]
    NeedsClock,
    #[error("odd number of arguments for Hash")]
    OddArguments,
    #[error("invalid base64")]
    Base64,
    #[error(
        "the conversion would make {0} elements, more than the limit of {CONVERTED_ELEMENTS_MAX}"
    )]
    TooMany(u64),
    /// The type or arguments of `Init` do not fit the constructor.
    #[error("{0}")]
    Init(String),
    #[error(transparent)]
    Mismatch(#[from] TypeMismatch),
    #[error(transparent)]
    Format(#[from] FormatError),
    #[error(transparent)]
    Time(#[from] TimeError),
    #[error(transparent)]
    Version(#[from] SemVerError),
    #[error(transparent)]
    VersionRange(#[from] SemVerRangeError),
    #[error(transparent)]
    Uri(#[from] PuppetUriError),
    /// A type's text could not be parsed.
    #[error("{0}")]
    TypeText(String),
    #[error("{0}")]
    Regexp(String),
}

impl ConversionError {
    pub(super) fn unsupported(ty: &Type) -> Self {
        Self::Unsupported(ty.to_string())
    }
}
