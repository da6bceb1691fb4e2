//! The fingerprint of a step: [`fingerprint`] of its kind and arguments.
//!
//! Invariant: two equal JSON values have the same fingerprint, whatever the order of their keys.

use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The SHA-256 of kind and arguments, in hexadecimal digits.
pub(crate) fn fingerprint(kind: &str, arguments: &Value) -> String {
    let mut text = String::from(kind);
    text.push('\0');
    write(arguments, &mut text);
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().fold(String::new(), |mut digits, byte| {
        // Writing to a string does not fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// Writes JSON without spaces and with sorted keys.
fn write(value: &Value, into: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            into.push('{');
            for (index, key) in keys.into_iter().enumerate() {
                into.push_str(if index == 0 { "" } else { "," });
                into.push_str(&Value::from(key.as_str()).to_string());
                into.push(':');
                write(&map[key], into);
            }
            into.push('}');
        }
        Value::Array(items) => {
            into.push('[');
            for (index, item) in items.iter().enumerate() {
                into.push_str(if index == 0 { "" } else { "," });
                write(item, into);
            }
            into.push(']');
        }
        plain => into.push_str(&plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_said_counts() {
        let of = |value| fingerprint("task", &value);
        let one = of(json!({"a": 1, "b": {"x": [1, 2], "y": "ü\n"}}));
        let two = of(json!({"b": {"y": "ü\n", "x": [1, 2]}, "a": 1}));
        assert_eq!(one, two);
        assert_ne!(one, of(json!({"a": 1, "b": {"x": [2, 1], "y": "ü\n"}})));
        assert_ne!(of(json!("1")), of(json!(1)));
        assert_ne!(fingerprint("a", &json!(1)), fingerprint("b", &json!(1)));
    }
}
