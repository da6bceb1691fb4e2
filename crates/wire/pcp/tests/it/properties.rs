//! Properties that hold for all inputs.

use jiff::Timestamp;
use pcp::{MessageId, PcpMessage, PcpUri, v1, v2};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::value::RawValue;

use crate::entry;

fn uri() -> impl Strategy<Value = PcpUri> {
    ("[^/\\pC]{0,20}", "[^/\\pC]{1,10}")
        .prop_map(|(common_name, kind)| PcpUri::new(common_name, &kind).expect("no slash"))
}

fn data() -> impl Strategy<Value = Box<RawValue>> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        any::<i64>().prop_map(|value| value.to_string()),
        any::<String>().prop_map(|text| serde_json::to_string(&text).expect("text is JSON")),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            inner.prop_map(|value| format!("{{\"k\": {value}}}")),
        ]
    })
    .prop_map(|json| RawValue::from_string(json).expect("made as JSON"))
}

prop_compose! {
    fn message()(
        message_type in "\\PC{1,60}",
        target in option::of(uri()),
        sender in option::of(uri()),
        replies: bool,
        data in option::of(data()),
    ) -> PcpMessage {
        let in_reply_to = replies.then(MessageId::random);
        PcpMessage { target, sender, in_reply_to, ..PcpMessage::new(message_type, data) }
    }
}

proptest! {
    #[test]
    fn v2_round_trip(message in message()) {
        let text = v2::encode(&message);
        let decoded = v2::decode(&text).unwrap();
        prop_assert_eq!(&decoded.to_message(), &message);
        prop_assert_eq!(v2::encode_ref(&decoded), text);
    }

    #[test]
    fn v1_round_trip(message in message()) {
        prop_assume!(message.target.as_ref().is_none_or(|target| !target.is_wildcard()));
        let bytes = v1::encode(&v1::from_message(&message, Timestamp::UNIX_EPOCH));
        let decoded = v1::to_message(&v1::decode(&bytes).unwrap()).unwrap();
        let sender = message.sender.clone().or(Some(PcpUri::broker()));
        prop_assert_eq!(decoded, PcpMessage { sender, in_reply_to: None, ..message });
    }

    #[test]
    fn arbitrary_bytes_never_panic(data in vec(any::<u8>(), 0..300), text: String) {
        entry::v2_text(&data);
        entry::v2_text(text.as_bytes());
        entry::v1_frame(&data);
    }

    #[test]
    fn damaged_messages_never_panic(
        message in message(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut text = v2::encode(&message).into_bytes();
        let mut frame = v1::encode(&v1::from_message(&message, Timestamp::UNIX_EPOCH));
        for (place, byte) in damage {
            let at = place.index(text.len());
            text[at] = byte;
            let at = place.index(frame.len());
            frame[at] = byte;
        }
        entry::v2_text(&text);
        entry::v1_frame(&frame);
    }
}
