//! Invariants that fuzzing and property tests check with arbitrary bytes: no panic, and metadata
//! that is accepted can be written and read again.

use environments::{ParameterType, TaskMetadata};

/// Reads a metadata file and writes it again.
pub(crate) fn task_metadata(data: &[u8]) {
    let Ok(metadata) = TaskMetadata::parse(data, &|_| None) else {
        return;
    };
    let written = serde_json::to_vec(&metadata).expect("metadata is JSON");
    let again = TaskMetadata::parse(&written, &|_| None).expect("written metadata can be read");
    let expected = TaskMetadata {
        unknown_keys: vec![],
        ..metadata
    };
    assert_eq!(expected, again);
}

/// Reads the type of a parameter and checks values with it.
pub(crate) fn parameter_type(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(parsed) = ParameterType::parse(text, &|_| None) else {
        return;
    };
    for value in [
        serde_json::json!(null),
        serde_json::json!("CANARY"),
        serde_json::json!([1, "CANARY", [true]]),
        serde_json::json!({"a": {"b": "CANARY"}}),
    ] {
        if let Err(message) = parsed.check("p", &value) {
            assert!(message.starts_with("parameter 'p' "), "{message}");
            assert!(
                text.contains("CANARY") || !message.contains("CANARY"),
                "{message}"
            );
        }
    }
}
