//! Reading TOML: [`from_str`], with the path of a wrong value in the error.

use ::toml::Spanned;
use ::toml::de::{DeTable, Deserializer};
use serde::de::DeserializeOwned;

use crate::error::{DecodeError, DecodeProblem, DocumentFormat};
use crate::mismatch::DecodeMismatch;

/// Parses a whole text.
///
/// # Errors
/// The text is not TOML, or its content is not of type `T`.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, DecodeError> {
    let error = |path: String, error: &::toml::de::Error, problem: DecodeProblem| DecodeError {
        format: DocumentFormat::Toml,
        problem: Box::new(problem),
        path,
        position: error.span().map(|span| line_and_column(text, span.start)),
    };
    let document: Spanned<DeTable<'_>> = DeTable::parse(text).map_err(|wrong| {
        let problem = DecodeProblem::Syntax(describe_syntax_error(wrong.message()));
        error(String::new(), &wrong, problem)
    })?;
    serde_path_to_error::deserialize(Deserializer::from(document)).map_err(|wrong| {
        let path = wrong.path().to_string();
        let path = if path == "." { String::new() } else { path };
        let problem = DecodeProblem::Mismatch(parse_mismatch(wrong.inner().message()));
        error(path, wrong.inner(), problem)
    })
}

/// Line and column of a byte, both from 1.
fn line_and_column(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (line, before[start..].chars().count() + 1)
}

/// Parses the TOML library's own messages about content, which are not serde's.
fn parse_mismatch(message: &str) -> DecodeMismatch {
    let plain = match message {
        "integer number overflowed" | "floating-point number overflowed" => {
            "the number is too large"
        }
        "wanted string or table" => "must be a string or a table",
        "expected empty array" => "must be an empty array",
        "expected empty table" => "must be an empty table",
        "wanted exactly 1 element, found 0 elements"
        | "wanted exactly 1 element, more than 1 element" => "must be a table with one key",
        other => return DecodeMismatch::parse(other),
    };
    DecodeMismatch::Other(plain.to_owned())
}

/// The message for a syntax error: with the next step if the error is a common mistake of a person,
/// otherwise a general one.
fn describe_syntax_error(message: &str) -> &'static str {
    let begins = |start: &str| message.starts_with(start);
    match message {
        _ if begins("duplicate key") => "the key occurs twice; remove one",
        _ if begins("unclosed array table") => "close the name of the section with ]]",
        _ if begins("unclosed table") => "close the name of the section with ]",
        _ if begins("unclosed array") => "the array is not closed; write ] after its last value",
        _ if begins("unclosed inline table") => {
            "the table is not closed; write } after its last value"
        }
        _ if begins("key with no value") => "write = and a value after the key",
        _ if begins("missing value") => "write a value after the =",
        _ if begins("string values must be quoted") => {
            "write a value here; strings stand in quotes"
        }
        _ if begins("invalid basic string")
            || begins("invalid literal string")
            || begins("invalid multi-line") =>
        {
            "the string is not closed, or it has an unknown escape (write \\\\ for a backslash)"
        }
        _ if begins("missing comma") => "write a comma between two values",
        _ if begins("extra comma") => "remove the comma",
        _ if begins("unexpected key or value") => "write one key and its value on each line",
        _ if begins("extra `=`") || begins("unexpected `=`") => "remove the =",
        _ if begins("invalid unquoted key") || begins("invalid key") => {
            "write a key of letters, digits, - and _, or in quotes"
        }
        _ if begins("cannot recurse further") || begins("recursion limit") => {
            "values are nested too deeply"
        }
        _ if begins("unexpected leading zero") => "remove the zero before the number",
        _ if begins("cannot extend value") => {
            "the key stands for a value that has no keys of its own"
        }
        _ if begins("invalid integer")
            || begins("invalid float")
            || begins("invalid hexadecimal")
            || begins("invalid octal")
            || begins("invalid binary")
            || begins("`_` may only go")
            || begins("redundant")
            || begins("radix must be")
            || begins("integers with a radix") =>
        {
            "a number is not written as TOML writes numbers"
        }
        _ if begins("invalid boolean") => "true or false is misspelt",
        _ if begins("invalid date-time") => "a date or time is not written as TOML writes them",
        _ => "the text cannot be understood here",
    }
}
