//! What fuzzing and property tests do with arbitrary text. The rule: no panic; an error stands in the text;
//! JSON is read as it is.

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
