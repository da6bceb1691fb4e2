//! Translation between the versions, as a broker does it.

use jiff::Timestamp;
use pcp::types::{ERROR_MESSAGE, INVENTORY_RESPONSE};
use pcp::{MessageId, PcpDecodeError, PcpMessage, PcpUri, TranslateError, v1};
use serde_json::value::RawValue;

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).expect("JSON")
}

fn message(message_type: &str, data: Option<&str>) -> PcpMessage {
    let target = "pcp://b/agent".parse().expect("an address");
    let sender = "pcp://a/controller".parse().expect("an address");
    PcpMessage::new(message_type, data.map(raw))
        .to(target)
        .from(sender)
}

/// Encodes a message as v1 bytes and decodes it again.
fn there_and_back(message: &PcpMessage) -> PcpMessage {
    let bytes = v1::encode(&v1::from_message(message, Timestamp::UNIX_EPOCH));
    v1::to_message(&v1::decode(&bytes).expect("a frame")).expect("a message")
}

#[test]
fn data_survives_both_ways() {
    for data in [
        None,
        Some("null"),
        Some("false"),
        Some("0"),
        Some(r#"{"a":[1,"ä"]}"#),
    ] {
        let message = message("t", data);
        assert_eq!(there_and_back(&message), message, "{data:?}");
    }
}

#[test]
fn only_two_types_keep_what_they_answer() {
    let id = Some(MessageId::random());
    let answered = |message_type, data| {
        let message = PcpMessage {
            in_reply_to: id,
            ..message(message_type, data)
        };
        there_and_back(&message).in_reply_to
    };
    assert_eq!(answered("t", None), None);
    assert_eq!(answered(INVENTORY_RESPONSE, Some(r#"{"uris":[]}"#)), id);
    assert_eq!(answered(ERROR_MESSAGE, Some(r#""no""#)), id);
}

#[test]
fn error_messages_change_their_form() {
    let id = MessageId::random();
    let error = PcpMessage::error("not \"connected\"", Some(id));
    let frame = v1::from_message(&error, Timestamp::UNIX_EPOCH);
    assert!(
        frame.envelope.sender.is_broker(),
        "without a sender the broker speaks"
    );
    assert!(frame.envelope.targets.is_empty());
    let data = String::from_utf8(frame.data.clone().unwrap().into_owned()).unwrap();
    assert_eq!(
        data,
        format!(r#"{{"id":"{id}","description":"not \"connected\""}}"#)
    );
    let back = v1::to_message(&frame).unwrap();
    assert_eq!(
        back,
        PcpMessage {
            sender: Some(PcpUri::broker()),
            ..error
        }
    );
}

#[test]
fn error_data_that_is_no_string_becomes_one() {
    let frame_data = |data| {
        let message = message(ERROR_MESSAGE, data);
        let frame = v1::from_message(&message, Timestamp::UNIX_EPOCH);
        String::from_utf8(frame.data.unwrap().into_owned()).unwrap()
    };
    assert_eq!(frame_data(Some("[1]")), r#"{"description":"[1]"}"#);
    assert_eq!(frame_data(None), r#"{"description":""}"#);
}

#[test]
fn data_that_is_not_utf8_is_delivered_with_a_mark() {
    let message = message("t", None);
    let mut frame = v1::from_message(&message, Timestamp::UNIX_EPOCH);
    frame.data = Some(b"{\"stderr\":\"a\xffb\"}".into());
    let marked = v1::to_message(&frame).unwrap();
    assert!(marked.has_replaced_bytes);
    let data = marked.data.as_ref().unwrap().get();
    assert_eq!(data, "{\"stderr\":\"a\u{fffd}b\"}");

    // Peers that do not support the mark get none.
    let plain = pcp::v2::encode(&marked);
    assert!(!plain.contains("tutti"), "{plain}");
    let told = pcp::v2::encode_with_mark(&marked);
    let back = pcp::v2::decode(&told).unwrap().to_message();
    assert!(back.has_replaced_bytes);

    frame.data = Some("{\"stderr\":\"a\u{fffd}b\"}".as_bytes().into());
    let own = v1::to_message(&frame).unwrap();
    assert!(!own.has_replaced_bytes, "the output had that character");
}

#[test]
fn what_has_no_v2_form_is_refused() {
    let message = message("t", None);
    let mut frame = v1::from_message(&message, Timestamp::UNIX_EPOCH);
    frame.data = Some(b"{".into());
    let error = v1::to_message(&frame).unwrap_err();
    assert_eq!(error, PcpDecodeError::NotJson { line: 1, column: 1 }.into());
    frame.data = Some(b"\xff".into());
    let error = v1::to_message(&frame).unwrap_err();
    assert_eq!(error, PcpDecodeError::NotJson { line: 1, column: 1 }.into());
    frame.data = Some(
        ["[".repeat(128), "]".repeat(128)]
            .concat()
            .into_bytes()
            .into(),
    );
    assert_eq!(
        v1::to_message(&frame).unwrap_err(),
        PcpDecodeError::TooDeep.into()
    );
    frame.data = Some(b"".into());
    assert!(
        v1::to_message(&frame).unwrap().data.is_none(),
        "an empty chunk is no data"
    );

    let wildcard: PcpUri = "pcp://*/agent".parse().unwrap();
    frame.envelope.targets = vec![wildcard.as_uri_ref()];
    assert_eq!(
        v1::to_message(&frame),
        Err(TranslateError::MultipleRecipients)
    );
    let one: PcpUri = "pcp://a/agent".parse().unwrap();
    frame.envelope.targets = vec![one.as_uri_ref(), one.as_uri_ref()];
    assert_eq!(
        v1::to_message(&frame),
        Err(TranslateError::MultipleRecipients)
    );
}

#[test]
fn a_v1_error_needs_its_description() {
    let message = message("t", None);
    let mut frame = v1::from_message(&message, Timestamp::UNIX_EPOCH);
    frame.envelope.message_type = ERROR_MESSAGE.into();
    let error = |frame: &v1::FrameRef<'_>| v1::to_message(frame).unwrap_err();
    assert_eq!(
        error(&frame),
        PcpDecodeError::MissingKey("description").into()
    );
    for (data, expected) in [
        ("{}", PcpDecodeError::MissingKey("description")),
        (r#""no""#, PcpDecodeError::NotObject),
        (
            r#"{"description":1}"#,
            PcpDecodeError::WrongType {
                key: "description",
                expected: "a string",
            },
        ),
    ] {
        frame.data = Some(data.as_bytes().into());
        assert_eq!(error(&frame), expected.into());
    }
}
