//! Checks of arbitrary bytes for fuzzing and property tests. Invariant: no panic; accepted input
//! can be encoded and decodes to the same; errors stay short.

use pxp::{AgentCapabilities, PxpMessageBody, types};
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

/// Checks the data of every message type.
pub(crate) fn bodies(data: &[u8]) {
    let Ok(raw) = serde_json::from_slice::<Box<RawValue>>(data) else {
        return;
    };
    for message_type in TYPES {
        match PxpMessageBody::decode(message_type, Some(&raw)) {
            Ok(body) => {
                assert_eq!(body.message_type(), message_type);
                let again = body.encode();
                let body =
                    PxpMessageBody::decode(message_type, Some(&again)).expect("ours can be read");
                assert_eq!(body.encode().get(), again.get());
            }
            Err(error) => assert!(error.to_string().chars().count() < 300, "{error}"),
        }
    }
}

/// Checks a capabilities header.
pub(crate) fn capabilities(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(capabilities) = text.parse::<AgentCapabilities>() else {
        return;
    };
    let header = capabilities.to_string();
    assert_eq!(
        header.parse::<AgentCapabilities>(),
        Ok(capabilities),
        "{header}"
    );
}
