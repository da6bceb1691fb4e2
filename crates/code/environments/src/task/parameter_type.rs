//! The type of a parameter of a task or plan: [`ParameterType`].
//!
//! Invariant: the text stays as its author wrote it, and the type that checks values contains no
//! `Sensitive`, because JSON values are not wrapped.

use pcore::{Type, TypeKind, TypeLookup, TypeTextError, Value, describe_mismatch};
use serde::{Serialize, Serializer};
use serde_json::Value as Json;

use crate::defaults::{PARAMETER_TYPE_BYTES, PARAMETER_TYPE_DEPTH};

/// A Puppet type with the text that declares it.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterType {
    text: String,
    /// Without `Sensitive`, at any depth.
    checked: Type,
    is_sensitive: bool,
}

/// The error for a text that does not declare a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterTypeError {
    /// The length of the text in bytes.
    #[error("a type of {0} bytes is too long; the limit is {PARAMETER_TYPE_BYTES}")]
    TooLong(usize),
    /// The text nests brackets more deeply than [`PARAMETER_TYPE_DEPTH`].
    #[error("the type is nested deeper than {PARAMETER_TYPE_DEPTH} levels")]
    TooDeep,
    /// A name that neither Puppet nor the environment's modules define.
    #[error(
        "unknown type '{0}'; it is neither a type of Puppet nor a type alias of a module in this \
         environment"
    )]
    Unknown(String),
    /// A syntax error, or wrong arguments of a type.
    #[error("{0}")]
    Invalid(#[from] TypeTextError),
}

impl ParameterType {
    /// Reads the text of a type. `lookup` finds type aliases by their names.
    pub fn parse(text: &str, lookup: TypeLookup<'_>) -> Result<Self, ParameterTypeError> {
        check_size(text)?;
        let declared = Type::parse_with(text, lookup)?;
        if let Some(name) = pcore::unresolved_reference(&declared) {
            let name = name.split('[').next().unwrap_or_default();
            return Err(ParameterTypeError::Unknown(name.to_owned()));
        }
        Ok(Self {
            text: text.to_owned(),
            checked: declared.without_sensitive(),
            is_sensitive: declared.has_sensitive(),
        })
    }

    /// The text as its author wrote it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The type as it checks values of JSON, without `Sensitive`.
    pub fn as_type(&self) -> &Type {
        &self.checked
    }

    /// True if the type contains `Sensitive` at any depth.
    pub fn is_sensitive(&self) -> bool {
        self.is_sensitive
    }

    /// True if a parameter of this type may be omitted.
    pub fn accepts_undef(&self) -> bool {
        self.checked.is_instance(&Value::Undef)
    }

    /// Checks a value of the parameter `name`.
    ///
    /// # Errors
    /// Puppet's message, which begins with the parameter's name and does not quote the value.
    pub fn check(&self, name: &str, value: &Json) -> Result<(), String> {
        let value = Value::from_json(value);
        if self.checked.is_instance(&value) {
            return Ok(());
        }
        let actual = Type::infer_detailed(&value).without_values();
        let subject = format!("parameter '{name}'");
        let lines = describe_mismatch(&subject, self.type_for_message(&value), &actual);
        let lines: Vec<&str> = lines.lines().map(str::trim).collect();
        Err(format!(
            "{}{}",
            lines.join("; "),
            self.describe_bounds(&value)
        ))
    }

    /// The type to name in a message: without `Optional` if there is a value.
    fn type_for_message(&self, value: &Value) -> &Type {
        match self.checked.kind() {
            TypeKind::Optional(Some(inner)) if !matches!(value, Value::Undef) => inner,
            _ => &self.checked,
        }
    }

    /// The property of a value that is out of bounds although its kind is right, appended to
    /// Puppet's message.
    fn describe_bounds(&self, value: &Value) -> String {
        match (self.type_for_message(value).kind(), value) {
            (TypeKind::Integer(_), Value::Int(_)) | (TypeKind::Float(_), Value::Float(_)) => {
                " out of range".to_owned()
            }
            (TypeKind::String(_), Value::Str(text)) => {
                format!(" of length {}", text.chars().count())
            }
            _ => String::new(),
        }
    }
}

impl Default for ParameterType {
    fn default() -> Self {
        Self {
            text: "Any".to_owned(),
            checked: Type::any(),
            is_sensitive: false,
        }
    }
}

impl Serialize for ParameterType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// Refuses a text whose type would need much memory or stack. Brackets in strings and patterns
/// count too, so the depth may be estimated too high, never too low.
pub(crate) fn check_size(text: &str) -> Result<(), ParameterTypeError> {
    if text.len() > PARAMETER_TYPE_BYTES {
        return Err(ParameterTypeError::TooLong(text.len()));
    }
    let mut depth = 0_usize;
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' | b'(' => depth += 1,
            b']' | b'}' | b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > PARAMETER_TYPE_DEPTH {
            return Err(ParameterTypeError::TooDeep);
        }
    }
    Ok(())
}
