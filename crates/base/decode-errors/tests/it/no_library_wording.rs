//! No message has a fragment of a library's wording.

use decode_errors::LIBRARY_WORDING;

/// Terms of serde's data model, which messages of other types may contain.
const DATA_MODEL: &[&str] = &["struct ", "enum ", "sequence", "at line "];

/// Fails if a message has a fragment of a library's wording.
#[track_caller]
pub(crate) fn assert_plain(message: &str) {
    for fragment in LIBRARY_WORDING.iter().chain(DATA_MODEL) {
        assert!(!message.contains(fragment), "{fragment:?} in {message:?}");
    }
}

#[test]
fn a_wrapped_message_of_a_library_is_left_out() {
    let wrapped = "fact x: invalid type: map, expected a string at line 1 column 5";
    let error: serde_json::Error = serde::de::Error::custom(wrapped);
    let message = decode_errors::DecodeError::from(error).to_string();
    assert_plain(&message);
    assert!(message.contains("is not of the form"), "{message}");
}
