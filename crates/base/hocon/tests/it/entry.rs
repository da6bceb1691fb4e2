//! Entry point of fuzzing and property tests for arbitrary text. Invariant: no panic; an error has
//! a position within the text; JSON is read as the same value.

use serde_json::Value;

pub(crate) fn document(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let read = hocon::parse(&text);
    if let Err(error) = &read {
        let lines = text.split('\n').count();
        assert!(
            (1..=lines).contains(&error.line),
            "{error} of {lines} lines"
        );
        assert!(error.column >= 1, "{error}");
    }
    if let Ok(json @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str::<Value>(&text) {
        assert_eq!(read.as_ref().ok(), Some(&json), "{text}");
    }
}
