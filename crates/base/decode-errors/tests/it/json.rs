//! Every error of JSON: the text and the message.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use decode_errors::json::{from_slice, from_str, from_value, object_from_slice};
use serde::Deserialize;
use serde_json::json;

use crate::no_library_wording::assert_plain;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "scope", default)]
    _scope: Scope,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scope {
    #[serde(rename = "nodes", default)]
    _nodes: Vec<String>,
    #[serde(rename = "limit", default)]
    _limit: Option<u8>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoKeys {}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Stream {
    Stdout,
    Stderr,
}

#[derive(Debug, Deserialize)]
enum NoNames {}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Several {
    #[expect(dead_code, reason = "only errors are looked at")]
    One(String),
    #[expect(dead_code, reason = "only errors are looked at")]
    Many(Vec<String>),
}

fn message<T: for<'a> Deserialize<'a>>(text: &str) -> String {
    let error = from_str::<T>(text).map(drop).unwrap_err();
    let message = error.to_string();
    assert_plain(&message);
    message
}

#[test]
fn a_structure_is_read_from_an_object_alone() {
    let read = |text: &str| object_from_slice::<Request>(text.as_bytes());
    assert!(
        from_slice::<Request>(br#"["web"]"#).is_ok(),
        "serde's derived code"
    );
    let message = read(r#"["web"]"#).unwrap_err().to_string();
    assert_plain(&message);
    assert_eq!(
        message,
        "must be an object, not an array (line 1, column 1)"
    );
    let wrong = read(r#"{"name": "web", "scope": {"limit": "x"}}"#).unwrap_err();
    assert_eq!(wrong.path(), "scope.limit");
    let pair = (
        "a whole number from 0 to 255".to_owned(),
        "a string".to_owned(),
    );
    assert_eq!(wrong.needed_and_found(), Some(pair));
    assert!(read(r#"{"name": "web"}"#).is_ok());
    assert_eq!(read("{").unwrap_err().needed_and_found(), None);
}

#[test]
fn a_wrong_uuid_is_told_in_plain_words() {
    let wrong: serde_json::Error = serde::de::Error::custom(
        "UUID parsing failed: invalid length: expected length 32 for simple format, found 3",
    );
    let message = decode_errors::DecodeError::from(wrong).to_string();
    assert!(
        message.contains("must be a UUID: 32 hexadecimal digits"),
        "{message}"
    );
    assert!(!message.contains("simple format"), "{message}");
}

#[test]
fn broken_grammar_is_told_with_the_next_step() {
    let table = [
        (
            "",
            "the text ends where a value is needed (line 1, column 1)",
        ),
        (
            "[1",
            "the text ends inside an array; close it with ] (line 1, column 2)",
        ),
        (
            "{",
            "the text ends inside an object; close it with } (line 1, column 1)",
        ),
        (
            "\"a",
            "the text ends inside a string; close it with \" (line 1, column 2)",
        ),
        (
            "{\"a\" 1}",
            "write a colon between the key and its value (line 1, column 6)",
        ),
        (
            "[1 2]",
            "write a comma between two values, or ] after the last one (line 1, column 4)",
        ),
        (
            "{\"a\":1 2}",
            "write a comma between two keys, or } after the last value (line 1, column 8)",
        ),
        (
            "[\n nul]",
            "true, false or null is misspelt (line 2, column 5)",
        ),
        (
            "{\"a\": x}",
            "write a value here: a string in double quotes, a number, true, false, null, [ or { \
             (line 1, column 7)",
        ),
        (
            r#""\q""#,
            "unknown escape in a string; write \\\\ for a backslash (line 1, column 3)",
        ),
        (
            "01",
            "a number is not written as JSON writes numbers (line 1, column 2)",
        ),
        ("1e999", "a number is too large (line 1, column 5)"),
        (
            "\"a\nb\"",
            "a string has a line break or another control character; write \\n for a line break \
             (line 2, column 1)",
        ),
        (
            "{a: 1}",
            "write the key in double quotes (line 1, column 2)",
        ),
        (
            r#""\ud800x""#,
            "a \\u escape in a string has only half of its character; write the other half behind \
             it (line 1, column 8)",
        ),
        (
            "[1,]",
            "remove the comma before the closing bracket (line 1, column 4)",
        ),
        (
            "{} {}",
            "remove what follows the end of the value (line 1, column 4)",
        ),
    ];
    for (text, what) in table {
        let full = format!("not JSON: {what}");
        assert_eq!(message::<serde_json::Value>(text), full, "{text}");
    }
    let deep = "[".repeat(200);
    let told = message::<serde_json::Value>(&deep);
    assert!(
        told.contains("values are nested more than 127 levels deep"),
        "{told}"
    );
    let told = from_slice::<serde_json::Value>(b"\"\xff\"")
        .unwrap_err()
        .to_string();
    assert!(told.contains("bytes that are not UTF-8"), "{told}");
}

#[test]
fn content_of_a_wrong_type_is_told_with_its_path() {
    let table = [
        (
            "3",
            "must be an object, not the number 3 (line 1, column 1)",
        ),
        (
            "{}",
            "the key \"name\" is missing; add it (line 1, column 2)",
        ),
        (
            r#"{"name":"a","name":"b"}"#,
            "the key \"name\" occurs twice; remove one (line 1, column 18)",
        ),
        (
            r#"{"name":"a","nam":1}"#,
            "unknown key \"nam\"; the keys here are \"name\", \"scope\" (line 1, column 17)",
        ),
        (
            r#"{"name":"a","scope":{"node":[]}}"#,
            "scope: unknown key \"node\"; the keys here are \"nodes\", \"limit\" (line 1, column 27)",
        ),
        (
            r#"{"name":{"a":1}}"#,
            "name: must be a string, not an object (line 1, column 8)",
        ),
        (
            "{\"name\":\"a\",\n\"scope\":{\"nodes\":[\"a\", null]}}",
            "scope.nodes[1]: must be a string, not null (line 2, column 27)",
        ),
        (
            r#"{"name":"a","scope":{"nodes":"a, expected b"}}"#,
            "scope.nodes: must be an array, not a string (line 1, column 44)",
        ),
        (
            r#"{"name":"a","scope":{"limit":300}}"#,
            "scope.limit: must be a whole number from 0 to 255, not the number 300 (line 1, column 32)",
        ),
        (
            r#"{"name":"a","scope":{"limit":1.5}}"#,
            "scope.limit: must be a whole number from 0 to 255, not the number 1.5 (line 1, column 32)",
        ),
        (
            r#"{"name":true}"#,
            "name: must be a string, not true (line 1, column 12)",
        ),
    ];
    for (text, whole) in table {
        assert_eq!(message::<Request>(text), whole, "{text}");
    }
}

#[test]
fn every_type_has_a_plain_name() {
    let told = [
        (
            message::<bool>("1"),
            "must be true or false, not the number 1",
        ),
        (message::<f64>("\"a\""), "must be a number, not a string"),
        (
            message::<char>("\"ab\""),
            "must be a string of one character, not a string",
        ),
        (message::<i64>("[]"), "must be a whole number, not an array"),
        (
            message::<u64>("-1"),
            "must be a whole number, 0 or more, not the number -1",
        ),
        (
            message::<i32>("3000000000"),
            "must be a whole number from -2147483648 to 2147483647",
        ),
        (
            message::<NonZeroU32>("0"),
            "must be a whole number from 1 to 4294967295",
        ),
        (message::<()>("1"), "must be null, not the number 1"),
        (
            message::<(u8, u8)>("[1]"),
            "must be an array of 2 values; it has 1 values",
        ),
        (
            message::<[u8; 3]>("[1]"),
            "must be an array of 3 values; it has 1 values",
        ),
        (
            message::<BTreeMap<String, u8>>("[]"),
            "must be an object, not an array",
        ),
        (
            message::<BTreeMap<u8, u8>>(r#"{"a":1}"#),
            "write the key as a number in double quotes",
        ),
        (
            message::<Stream>("\"std\""),
            "\"std\" is not possible here; write one of \"stdout\", \"stderr\"",
        ),
        (
            message::<NoNames>("\"a\""),
            "\"a\" is not possible here; no name is",
        ),
        (message::<Stream>("{}"), "write a value here"),
        (
            message::<NoKeys>(r#"{"a":1}"#),
            "unknown key \"a\"; there are no keys here, remove it",
        ),
        (
            message::<Several>("1"),
            "has none of the forms that are possible here",
        ),
    ];
    for (message, part) in told {
        assert!(message.contains(part), "{message} / {part}");
    }
}

#[test]
fn a_parsed_value_has_a_path_and_no_position() {
    let error = from_value::<Request>(json!({"name": "a", "scope": {"nodes": {}}})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "scope.nodes: must be an array, not an object"
    );
    assert_eq!((error.path(), error.position()), ("scope.nodes", None));
    assert!(!error.is_syntax());
}

#[test]
fn the_unknown_key_is_told_apart() {
    let error = from_str::<Request>(r#"{"name":"a","scope":{"n`, expected x":1}}"#).unwrap_err();
    assert_eq!(error.unknown_key(), Some("n`, expected x"));
    assert_eq!(error.position(), Some((1, 37)));
}

#[test]
fn texts_of_the_document_are_clipped_and_printable_and_strings_are_not_repeated() {
    let key = format!("\\u001b[31m{}", "k".repeat(10_000));
    let told = message::<Request>(&format!(r#"{{"name":"a","{key}":1}}"#));
    assert!(told.len() < 600 && !told.contains('\u{1b}'), "{told}");
    let told = message::<u8>("\"hunter2\"");
    assert!(!told.contains("hunter2"), "{told}");
}
