//! Values in payloads: [`to_plain_value`].

use serde_json::{Map, Value};

/// Key that marks a value as of a type that JSON does not have.
const TYPE_KEY: &str = "__ptype";
/// Key of such a value's content.
const VALUE_KEY: &str = "__pvalue";
/// Text in place of a sensitive value.
const REDACTED: &str = "Sensitive [value redacted]";

/// A catalog, a value of it or a fact, without rich data and NUL. Rich data becomes text, and a sensitive
/// value is redacted.
pub(super) fn to_plain_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(without_nul(text)),
        Value::Array(items) => items.into_iter().map(to_plain_value).collect(),
        Value::Object(map) => match map.get(TYPE_KEY) {
            Some(Value::String(kind)) => Value::String(rich_text(kind, &map)),
            _ => Value::Object(to_plain_map(map)),
        },
        other => other,
    }
}

/// The same for each value of a map.
pub(super) fn to_plain_map(map: Map<String, Value>) -> Map<String, Value> {
    let plain = |(key, value)| (without_nul(key), to_plain_value(value));
    map.into_iter().map(plain).collect()
}

fn rich_text(kind: &str, map: &Map<String, Value>) -> String {
    match (kind, map.get(VALUE_KEY)) {
        ("Sensitive", _) => REDACTED.to_owned(),
        ("Default", _) => "default".to_owned(),
        (_, Some(Value::String(text))) => without_nul(text.clone()),
        // The arguments of a deferred call may have a sensitive value.
        _ => kind.to_owned(),
    }
}

/// A text with U+FFFD instead of NUL, which PuppetDB refuses.
pub(super) fn without_nul(text: String) -> String {
    match text.contains('\0') {
        true => text.replace('\0', "\u{fffd}"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rich_data_becomes_text_and_secrets_are_redacted() {
        let value = json!({
            "a": [{"__ptype": "Sensitive", "__pvalue": "secret"}, 1, null],
            "b\0": {"__ptype": "Timestamp", "__pvalue": "2026-01-01T00:00:00Z"},
            "c": {"__ptype": "Deferred", "name": "f",
                  "arguments": [{"__ptype": "Sensitive", "__pvalue": "secret"}]},
            "d": {"x\0": {"y": "z\0"}},
            "e": {"__ptype": "Default"},
        });
        let plain = json!({
            "a": ["Sensitive [value redacted]", 1, null],
            "b\u{fffd}": "2026-01-01T00:00:00Z",
            "c": "Deferred",
            "d": {"x\u{fffd}": {"y": "z\u{fffd}"}},
            "e": "default",
        });
        assert_eq!(to_plain_value(value), plain);
    }
}
