//! Types from their arguments: `Integer[1, 2]`. Main function: [`Type::parameterize`].
//!
//! Invariant: errors have Puppet's issue code and wording, and identify the wrong argument.

mod arguments;
mod catalog;
mod composed;
mod objects;
mod sized;

use crate::convert::ConversionError;
use crate::describe::{TypeMismatch, article};
use crate::types::{Type, TypeKind};
use crate::value::{SemVerRangeError, Value};
use arguments::flatten;

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
    fn new(issue: &'static str, argument: Option<usize>, message: String) -> Self {
        Self {
            issue: Some(issue),
            message,
            argument,
        }
    }

    /// An error that has no code in Puppet.
    fn plain(message: impl Into<String>) -> Self {
        Self {
            issue: None,
            message: message.into(),
            argument: None,
        }
    }

    /// The error for a wrong number of arguments.
    fn arity(base: &str, min: usize, max: Option<usize>, given: usize) -> Self {
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

impl Type {
    /// The type with arguments: `Integer` with 1 and 2 is `Integer[1, 2]`. For resources and
    /// classes with several titles it is a list of types.
    pub fn parameterize(&self, arguments: &[Value]) -> Result<Value, AccessError> {
        let flat = flatten(arguments);
        let flat = flat.as_slice();
        let ty = match self.kind() {
            TypeKind::Resource { .. } | TypeKind::Class(_) => {
                return catalog::parameterize_catalog(self, arguments);
            }
            TypeKind::Callable(_) => composed::callable(self, arguments)?,
            TypeKind::Struct(_) => composed::structure(self, arguments)?,
            TypeKind::Init(_) => composed::init(arguments)?,
            TypeKind::Integer(_)
            | TypeKind::Float(_)
            | TypeKind::String(_)
            | TypeKind::Collection(_)
            | TypeKind::Array { .. }
            | TypeKind::Hash { .. }
            | TypeKind::Timestamp(_)
            | TypeKind::Timespan(_) => sized::parameterize_sized(self, flat)?,
            TypeKind::Boolean(_)
            | TypeKind::Enum(_)
            | TypeKind::Pattern(_)
            | TypeKind::Regexp(_)
            | TypeKind::SemVer(_)
            | TypeKind::Runtime(_)
            | TypeKind::Uri(_)
            | TypeKind::Variant(_)
            | TypeKind::Tuple(_)
            | TypeKind::Optional(_)
            | TypeKind::NotUndef(_)
            | TypeKind::Type(_)
            | TypeKind::Sensitive(_)
            | TypeKind::Iterable(_)
            | TypeKind::Iterator(_)
            | TypeKind::Object(_)
            | TypeKind::TypeSet(_) => composed::parameterize_composed(self, flat)?,
            TypeKind::Reference(text) => {
                return Err(AccessError::new(
                    "UNKNOWN_RESOURCE_TYPE",
                    None,
                    format!("Resource type not found: {text}"),
                ));
            }
            _ => {
                let label = type_label(self);
                return Err(AccessError::new(
                    "OPERATOR_NOT_APPLICABLE",
                    None,
                    format!(
                        "Operator '[]' is not applicable to {} {label}.",
                        article(&label)
                    ),
                ));
            }
        };
        Ok(Value::Type(ty))
    }
}

/// Label of a type in messages: `Integer-Type`.
fn type_label(ty: &Type) -> String {
    format!("{ty}-Type")
}

/// The label with an article, for the beginning of a sentence.
fn type_label_uc(ty: &Type) -> String {
    let label = type_label(ty);
    let article = if article(&label) == "an" { "An" } else { "A" };
    format!("{article} {label}")
}
