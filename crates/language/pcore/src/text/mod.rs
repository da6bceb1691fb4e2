//! Texts of values and types, as Puppet prints them.
//!
//! Invariant: a sensitive value is never shown.

pub(crate) mod base64;
mod named_types;
mod printer;
mod quote;
mod values;

use std::fmt;

pub(crate) use named_types::{capitalize, capitalize_segments};
pub(crate) use printer::ValuePrinter;
pub use quote::{double_quote, quote};
pub use syntax::{ruby_float, ruby_inspect};

use crate::types::{Type, TypeKind};
use crate::value::{Regexp, Value};

/// Text printed instead of a sensitive value.
pub const REDACTED: &str = "Sensitive [value redacted]";

/// The text of a type in the language: aliases, objects and type sets are shown as their
/// definitions.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            TypeKind::Alias(_) | TypeKind::Object(_) | TypeKind::TypeSet(_) => {
                f.write_str(&self.to_expanded_string())
            }
            _ => f.write_str(&self.to_plain_string()),
        }
    }
}

impl Type {
    /// The text with aliases shown by name.
    #[must_use]
    pub fn to_plain_string(&self) -> String {
        let mut printer = ValuePrinter::default();
        printer.print_type(self);
        printer.finish()
    }

    /// The text with `Name = definition` for each alias, and object types in full.
    #[must_use]
    pub fn to_expanded_string(&self) -> String {
        let mut printer = ValuePrinter::expanded();
        printer.print_type(self);
        printer.finish()
    }
}

/// The text of a value in an interpolation: strings without quotes, `undef` as the empty text.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undef => Ok(()),
            Self::Default => f.write_str("default"),
            Self::Bool(flag) => write!(f, "{flag}"),
            Self::Int(number) => write!(f, "{number}"),
            Self::Float(number) => f.write_str(&ruby_float(*number)),
            Self::Str(text) => f.write_str(text),
            Self::Array(values) => {
                f.write_str("[")?;
                for (index, value) in values.iter().enumerate() {
                    let comma = if index > 0 { ", " } else { "" };
                    write!(f, "{comma}{value}")?;
                }
                f.write_str("]")
            }
            Self::Hash(entries) => {
                f.write_str("{")?;
                for (index, (key, value)) in entries.iter().enumerate() {
                    let comma = if index > 0 { ", " } else { "" };
                    write!(f, "{comma}{key} => {value}")?;
                }
                f.write_str("}")
            }
            Self::Regexp(regexp) => f.write_str(&regexp_literal(regexp)),
            Self::Type(ty) => write!(f, "{ty}"),
            Self::Sensitive(_) => f.write_str(REDACTED),
            Self::Binary(bytes) => write!(f, "{bytes}"),
            Self::SemVer(version) => write!(f, "{version}"),
            Self::SemVerRange(range) => write!(f, "{range}"),
            Self::Timestamp(time) => write!(f, "{time}"),
            Self::Timespan(span) => write!(f, "{span}"),
            Self::Uri(uri) => write!(f, "{uri}"),
            Self::Object(object) => match object.text() {
                Some(text) => f.write_str(&text),
                None => f.write_str(&self.to_program_string()),
            },
        }
    }
}

impl Value {
    /// The value as a program writes it: strings in quotes.
    #[must_use]
    pub fn to_program_string(&self) -> String {
        let mut printer = ValuePrinter::default();
        printer.print_value(self);
        printer.finish()
    }
}

/// `/source/` with escaped slashes.
pub(crate) fn regexp_literal(regexp: &Regexp) -> String {
    let source = regexp.source();
    let mut literal = String::with_capacity(source.len() + 2);
    literal.push('/');
    let mut escaped = false;
    for c in source.chars() {
        if c == '/' && !escaped {
            literal.push('\\');
        }
        escaped = c == '\\' && !escaped;
        literal.push(c);
    }
    literal.push('/');
    literal
}
