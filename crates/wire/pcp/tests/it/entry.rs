//! Checks of arbitrary bytes for fuzzing and property tests. Invariant: no panic; decoded input can
//! be encoded and decodes to the same.

use pcp::{MessageRef, v1, v2};

const LONGEST_ERROR_BYTES: usize = 200;

/// Checks a v2 text.
pub(crate) fn v2_text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match v2::decode(text) {
        Ok(message) => check(&message),
        Err(error) => assert!(error.to_string().len() < LONGEST_ERROR_BYTES, "{error}"),
    }
}

/// Checks a v1 frame, and its translation to v2 and back.
pub(crate) fn v1_frame(data: &[u8]) {
    let frame = match v1::decode(data) {
        Ok(frame) => frame,
        Err(error) => {
            assert!(error.to_string().len() < LONGEST_ERROR_BYTES, "{error}");
            return;
        }
    };
    let again = v1::encode(&frame);
    let decoded = v1::decode(&again).expect("what is encoded can be decoded");
    // Times are printed in microseconds.
    assert_eq!(decoded.envelope.targets, frame.envelope.targets);
    assert_eq!(decoded.data, frame.data);
    if let Ok(message) = v1::to_message(&frame) {
        check(&message.as_message_ref());
        let back = v1::from_message(&message, frame.envelope.expires);
        v1::to_message(&back).expect("what came from v1 can go there again");
    }
}

fn check(message: &MessageRef<'_>) {
    let text = v2::encode_ref(message);
    let again = v2::decode(&text).expect("what is encoded can be decoded");
    assert_eq!(again.to_message(), message.to_message());
}
