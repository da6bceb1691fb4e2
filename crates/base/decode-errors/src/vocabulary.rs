//! serde's terms for values in terms of a document's author: [`describe_found`] and
//! [`describe_needed`].

use crate::error::DocumentFormat;

/// Describes a value that is in the document. Strings are never repeated: they may be secrets.
pub(crate) fn describe_found(term: &str, format: DocumentFormat) -> String {
    let kind = term.split_once(" `").map_or(term, |(kind, _)| kind);
    let quoted = || term.split('`').nth(1).unwrap_or_default();
    match kind {
        _ if term.starts_with("string \"") => "a string".to_owned(),
        "boolean" => quoted().to_owned(),
        "integer" | "floating point" => format!("the number {}", quoted()),
        "character" | "unit variant" => "a string".to_owned(),
        "byte array" => "bytes".to_owned(),
        "null" | "unit value" => "null".to_owned(),
        "sequence" | "tuple variant" => "an array".to_owned(),
        "map" | "newtype variant" | "struct variant" => format.object_term().to_owned(),
        "Option value" | "newtype struct" | "enum" => "a value".to_owned(),
        _ => term.to_owned(),
    }
}

/// Describes a value that is needed.
pub(crate) fn describe_needed(term: &str, format: DocumentFormat) -> String {
    if let Some(range) = describe_integer(term) {
        return range.to_owned();
    }
    if let Some(count) = strip_count(term) {
        return match count {
            "0" => "an empty array".to_owned(),
            "1" => "an array of one value".to_owned(),
            _ => format!("an array of {count} values"),
        };
    }
    let kind = match term.split_once(' ') {
        Some(("struct" | "struct variant" | "enum", _)) => term.split(' ').next(),
        _ => None,
    };
    match kind.unwrap_or(term) {
        "a boolean" => "true or false".to_owned(),
        "f32" | "f64" | "a JSON number" | "a number" => "a number".to_owned(),
        "a string" | "a borrowed string" | "path string" | "a borrowed path" | "os string"
        | "variant identifier" | "field identifier" | "enum" => "a string".to_owned(),
        "socket address" => "an address with a port, such as \"127.0.0.1:8143\"".to_owned(),
        "a character" => "a string of one character".to_owned(),
        "unit" => "null".to_owned(),
        "option" => "a value or null".to_owned(),
        "byte array" | "a borrowed byte array" => "bytes".to_owned(),
        "a sequence" => "an array".to_owned(),
        "an empty array" | "fewer elements in array" | "fewer elements in sequence" => {
            "a shorter array".to_owned()
        }
        "a map" | "struct" | "a JSON object" => format.object_term().to_owned(),
        "map with a single key" => format!("{} with one key", format.object_term()),
        "fewer elements in map" => format!("{} with fewer keys", format.object_term()),
        "string or map" => format!("a string or {}", format.object_term()),
        "any value" | "any valid JSON value" | "a JSON value" => {
            format!("a {} value", format.name())
        }
        _ => describe_rust_type(term, format).unwrap_or_else(|| term.replace('`', "\"")),
    }
}

/// Describes a type of Rust with a name, such as "tuple variant Scope::Nodes".
fn describe_rust_type(term: &str, format: DocumentFormat) -> Option<String> {
    const OBJECTS: [&str; 4] = [
        "struct variant ",
        "internally tagged enum ",
        "adjacently tagged enum ",
        "newtype variant ",
    ];
    const ARRAYS: [&str; 3] = ["tuple struct ", "tuple variant ", "tuple "];
    let begins = |list: &[&str]| list.iter().any(|start| term.starts_with(start));
    if begins(&OBJECTS) {
        return Some(format.object_term().to_owned());
    }
    if begins(&ARRAYS) {
        return Some("an array".to_owned());
    }
    match begins(&["unit struct "]) {
        true => Some("null".to_owned()),
        false => begins(&["unit variant ", "variant of enum "]).then(|| "a string".to_owned()),
    }
}

fn describe_integer(term: &str) -> Option<&'static str> {
    let nonzero = term.strip_prefix("a nonzero ");
    Some(match (nonzero.unwrap_or(term), nonzero.is_some()) {
        ("u8", false) => "a whole number from 0 to 255",
        ("u16", false) => "a whole number from 0 to 65535",
        ("u32", false) => "a whole number from 0 to 4294967295",
        ("u64" | "u128" | "usize", false) => "a whole number, 0 or more",
        ("u8", true) => "a whole number from 1 to 255",
        ("u16", true) => "a whole number from 1 to 65535",
        ("u32", true) => "a whole number from 1 to 4294967295",
        ("u64" | "u128" | "usize", true) => "a whole number, 1 or more",
        ("i8", false) => "a whole number from -128 to 127",
        ("i16", false) => "a whole number from -32768 to 32767",
        ("i32", false) => "a whole number from -2147483648 to 2147483647",
        ("i64" | "i128" | "isize", false) => "a whole number",
        ("i8" | "i16" | "i32" | "i64" | "i128" | "isize", true) => "a whole number other than 0",
        _ => return None,
    })
}

/// The count in "an array of length 3", "a tuple of size 3", "struct Point with 3 elements".
fn strip_count(term: &str) -> Option<&str> {
    let count = term
        .strip_prefix("an array of length ")
        .or_else(|| term.strip_prefix("a tuple of size "))
        .or_else(|| term.strip_suffix(" elements in sequence"))
        .or_else(|| {
            let (_, count) = term.rsplit_once(" with ")?;
            count
                .strip_suffix(" elements")
                .or_else(|| count.strip_suffix(" element"))
        });
    count.filter(|count| !count.is_empty() && count.bytes().all(|b| b.is_ascii_digit()))
}
