//! Content of a wrong type, read from the message of serde's data model: [`DecodeMismatch`].
//!
//! serde's errors are only texts. The texts of `serde_core::de::Error` are the same for every
//! format, so they are parsed here; any other text comes from a type of this project and is shown
//! unchanged.

use crate::LIBRARY_WORDING;
use crate::defaults::LISTED_NAMES;
use crate::error::{DocumentFormat, to_printable, to_printable_message};
use crate::vocabulary::{describe_found, describe_needed};

/// Difference between the content of a document and the type that is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DecodeMismatch {
    /// A value of another type or out of range; both in serde's terms.
    Value { found: String, needed: String },
    /// An array or object with `length` values.
    Length { length: String, needed: String },
    /// A required key is absent.
    MissingKey(String),
    /// A key that occurs twice.
    DuplicateKey(String),
    /// A key that the type does not have, and the keys that it has.
    UnknownKey { key: String, known: Vec<String> },
    /// A string that is not in a list of names.
    UnknownName { name: String, known: Vec<String> },
    /// A value that has none of several possible forms.
    NoForm,
    /// A message of a type of this project.
    Other(String),
}

/// Replaces the message of the library that parses UUIDs, which counts bytes and groups.
const UUID_NEEDED: &str =
    "must be a UUID: 32 hexadecimal digits in five groups, as 5ec2e0d4-9c1b-4f0e-8f6a-1d2c3b4a5f60";

/// The standard library's message for a text that is not an address with a port.
const SOCKET_ADDRESS: &str = "invalid socket address syntax";

// === impl DecodeMismatch ===

impl DecodeMismatch {
    /// Parses the message of a `serde::de::Error`.
    pub(crate) fn parse(text: &str) -> Self {
        let between = |start: &str, end: &str| {
            let inner = text.strip_prefix(start)?.strip_suffix(end)?;
            Some(to_printable(inner))
        };
        if let Some(rest) = text
            .strip_prefix("invalid type: ")
            .or_else(|| text.strip_prefix("invalid value: "))
            && let Some((found, needed)) = split_expected(rest)
        {
            let (found, needed) = (to_printable(found), needed.to_owned());
            return Self::Value { found, needed };
        }
        if let Some((length, needed)) = text
            .strip_prefix("invalid length ")
            .and_then(|rest| rest.split_once(", expected "))
        {
            let (length, needed) = (to_printable(length), needed.to_owned());
            return Self::Length { length, needed };
        }
        if let Some(key) = between("missing field `", "`") {
            return Self::MissingKey(key);
        }
        if let Some(key) = between("duplicate field `", "`") {
            return Self::DuplicateKey(key);
        }
        if let Some((key, known)) = parse_unknown_name("unknown field `", "fields", text) {
            return Self::UnknownKey { key, known };
        }
        if let Some((name, known)) = parse_unknown_name("unknown variant `", "variants", text) {
            return Self::UnknownName { name, known };
        }
        let no_form = text.starts_with("data did not match any variant of ")
            || (text.starts_with("no variant of ") && text.ends_with(" found in flattened data"));
        if text.starts_with("UUID parsing failed") {
            return Self::Other(UUID_NEEDED.to_owned());
        }
        if text == SOCKET_ADDRESS {
            let (found, needed) = ("string \"\"".to_owned(), "socket address".to_owned());
            return Self::Value { found, needed };
        }
        // A message of this project may contain one of a library.
        let is_plain = !LIBRARY_WORDING.iter().any(|part| text.contains(part));
        match (no_form, is_plain) {
            (true, _) => Self::NoForm,
            (false, true) => Self::Other(to_printable_message(text)),
            (false, false) => Self::Other("is not of the form that is needed here".to_owned()),
        }
    }

    /// The kind of value that is needed and the one that was found, if this is the problem.
    pub(crate) fn needed_and_found(&self, format: DocumentFormat) -> Option<(String, String)> {
        match self {
            Self::Value {
                found: is,
                needed: must,
            } => Some((describe_needed(must, format), describe_found(is, format))),
            _ => None,
        }
    }

    /// The problem in terms of `format`.
    pub(crate) fn to_text(&self, format: DocumentFormat) -> String {
        match self {
            Self::Value {
                found: is,
                needed: must,
            } => format!(
                "must be {}, not {}",
                describe_needed(must, format),
                describe_found(is, format)
            ),
            Self::Length {
                length,
                needed: must,
            } => format!(
                "must be {}; it has {length} values",
                describe_needed(must, format)
            ),
            Self::MissingKey(key) => format!("the key \"{key}\" is missing; add it"),
            Self::DuplicateKey(key) => format!("the key \"{key}\" occurs twice; remove one"),
            Self::UnknownKey { key, known } if known.is_empty() => {
                format!("unknown key \"{key}\"; there are no keys here, remove it")
            }
            Self::UnknownKey { key, known } => {
                format!(
                    "unknown key \"{key}\"; the keys here are {}",
                    join_names(known)
                )
            }
            Self::UnknownName { name, known } if known.is_empty() => {
                format!("\"{name}\" is not possible here; no name is")
            }
            Self::UnknownName { name, known } => {
                format!(
                    "\"{name}\" is not possible here; write one of {}",
                    join_names(known)
                )
            }
            Self::NoForm => {
                "has none of the forms that are possible here; see the documentation of this key"
                    .to_owned()
            }
            Self::Other(text) => text.clone(),
        }
    }
}

/// The two halves of `FOUND, expected NEEDED`. A string in `FOUND` is quoted and may have the
/// separator in it.
fn split_expected(text: &str) -> Option<(&str, &str)> {
    const SEPARATOR: &str = ", expected ";
    let from = match text.strip_prefix("string \"") {
        None => 0,
        Some(rest) => {
            let mut escaped = false;
            let end = rest.find(|c| {
                let is_end = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                is_end
            })?;
            text.len() - rest.len() + end
        }
    };
    let at = from + text.get(from..)?.find(SEPARATOR)?;
    Some((&text[..at], &text[at + SEPARATOR.len()..]))
}

/// The name and the known names of a message such as ``unknown field `x`, expected one of `a`, `b`
/// `` or ``unknown field `x`, there are no fields``.
fn parse_unknown_name(start: &str, kinds: &str, text: &str) -> Option<(String, Vec<String>)> {
    let rest = text.strip_prefix(start)?;
    if let Some(name) = rest.strip_suffix(&format!("`, there are no {kinds}")) {
        return Some((to_printable(name), Vec::new()));
    }
    let (name, known) = rest.rsplit_once("`, expected ")?;
    let known = known.split('`').skip(1).step_by(2).map(to_printable);
    Some((to_printable(name), known.collect()))
}

fn join_names(names: &[String]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(LISTED_NAMES)
        .map(|name| format!("\"{name}\""))
        .collect();
    let more = match names.len().saturating_sub(LISTED_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    shown.join(", ") + &more
}
