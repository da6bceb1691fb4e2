//! What fuzzing and property tests do with arbitrary bytes. The rule: no panic; what is accepted
//! can be written and is then the same; errors stay short.

use pxp::task::{ParamType, TaskMetadata};
use pxp::{Body, Capabilities, types};
use serde_json::value::RawValue;

const TYPES: [&str; 10] = [
    types::BLOCKING_REQUEST,
    types::NON_BLOCKING_REQUEST,
    types::PROVISIONAL_RESPONSE,
    types::BLOCKING_RESPONSE,
    types::NON_BLOCKING_RESPONSE,
    types::RPC_ERROR,
    types::OUTCOME_ACK,
    types::OUTPUT,
    types::OUTPUT_CREDIT,
    types::CANCEL,
];

/// The data of every message type.
pub(crate) fn bodies(data: &[u8]) {
    let Ok(raw) = serde_json::from_slice::<Box<RawValue>>(data) else {
        return;
    };
    for message_type in TYPES {
        match Body::decode(message_type, Some(&raw)) {
            Ok(body) => {
                assert_eq!(body.message_type(), message_type);
                let again = body.encode();
                let body = Body::decode(message_type, Some(&again)).expect("ours can be read");
                assert_eq!(body.encode().get(), again.get());
            }
            Err(error) => assert!(error.to_string().chars().count() < 300, "{error}"),
        }
    }
}

/// A metadata file.
pub(crate) fn task_metadata(data: &[u8]) {
    let Ok(metadata) = TaskMetadata::parse(data) else {
        return;
    };
    let written = serde_json::to_vec(&metadata).expect("metadata is JSON");
    let again = TaskMetadata::parse(&written).expect("what is written can be read");
    assert_eq!(
        TaskMetadata {
            unknown_keys: vec![],
            ..metadata
        },
        again
    );
}

/// A parameter's type, applied to some values.
pub(crate) fn param_type(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(parsed) = text.parse::<ParamType>() else {
        return;
    };
    let printed = parsed.to_string();
    assert_eq!(
        printed.parse::<ParamType>().as_ref(),
        Ok(&parsed),
        "{printed}"
    );
    for value in [
        serde_json::json!(null),
        serde_json::json!("text"),
        serde_json::json!([1, "a", [true]]),
        serde_json::json!({"a": {"b": 1.5}}),
    ] {
        if let Err(mismatch) = parsed.validate(&value) {
            assert!(!mismatch.found.is_empty());
        }
    }
}

/// A capabilities header.
pub(crate) fn capabilities(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(capabilities) = text.parse::<Capabilities>() else {
        return;
    };
    let header = capabilities.to_string();
    assert_eq!(header.parse::<Capabilities>(), Ok(capabilities), "{header}");
}
