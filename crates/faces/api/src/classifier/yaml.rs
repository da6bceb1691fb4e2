//! JSON values as YAML that every YAML 1.1 parser reads as the same values. Main function:
//! [`document`].
//!
//! Invariants: keys and texts are always quoted, so that none is taken for a number, a boolean or a
//! date; characters that YAML folds or forbids are escaped; numbers have YAML's form.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Formats a document: two levels of blocks, deeper values in one line.
pub(super) fn document(all: &Map<String, Value>) -> String {
    let mut text = String::from("---\n");
    block(&mut text, all, 0, 2);
    text
}

fn block(text: &mut String, all: &Map<String, Value>, indent: usize, levels: usize) {
    for (key, value) in all {
        text.extend(std::iter::repeat_n("  ", indent));
        quote(text, key);
        match value {
            Value::Object(inner) if levels > 0 && !inner.is_empty() => {
                text.push_str(":\n");
                block(text, inner, indent + 1, levels - 1);
            }
            value => {
                text.push_str(": ");
                flow(text, value);
                text.push('\n');
            }
        }
    }
}

fn flow(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Number(value) => number(text, &value.to_string()),
        Value::String(value) => quote(text, value),
        Value::Array(values) => {
            text.push('[');
            for (index, value) in values.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { ", " });
                flow(text, value);
            }
            text.push(']');
        }
        Value::Object(values) => {
            text.push('{');
            for (index, (key, value)) in values.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { ", " });
                quote(text, key);
                text.push_str(": ");
                flow(text, value);
            }
            text.push('}');
        }
    }
}

/// `1e16` is a text in YAML 1.1, `1.0e+16` a number.
fn number(text: &mut String, json: &str) {
    let Some((mantissa, exponent)) = json.split_once(['e', 'E']) else {
        text.push_str(json);
        return;
    };
    text.push_str(mantissa);
    if !mantissa.contains('.') {
        text.push_str(".0");
    }
    text.push('e');
    if !exponent.starts_with(['+', '-']) {
        text.push('+');
    }
    text.push_str(exponent);
}

fn quote(text: &mut String, value: &str) {
    text.push('"');
    for character in value.chars() {
        match character {
            '"' | '\\' => {
                text.push('\\');
                text.push(character);
            }
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            // Not printable in YAML, or treated as a line break.
            '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => {
                // Writing to a String cannot fail.
                let _ = write!(text, "\\u{:04x}", u32::from(character));
            }
            other => text.push(other),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_stay_texts_and_numbers_numbers() {
        let all = json!({
            "classes": {"apache": {"port": 80, "on": "yes", "list": ["1", 1.5, null]}, "ntp": {}},
            "parameters": {"big": 1e16, "tiny": 1e-7, "text": "a\n\"b\" \u{2028}\u{0}\u{85} é"},
            "environment": "production",
        });
        let text = document(all.as_object().unwrap());
        let expected = "---\n\
            \"classes\":\n\
            \x20 \"apache\":\n\
            \x20   \"port\": 80\n\
            \x20   \"on\": \"yes\"\n\
            \x20   \"list\": [\"1\", 1.5, null]\n\
            \x20 \"ntp\": {}\n\
            \"parameters\":\n\
            \x20 \"big\": 1.0e+16\n\
            \x20 \"tiny\": 1.0e-7\n\
            \x20 \"text\": \"a\\n\\\"b\\\" \\u2028\\u0000\\u0085 é\"\n\
            \"environment\": \"production\"\n";
        assert_eq!(text, expected);
    }
}
