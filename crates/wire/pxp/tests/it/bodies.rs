//! The data of every message type.

use bytes::Bytes;
use pxp::{
    OutputPiece, ProcessStream, PxpBodyError, PxpMessageBody, PxpRequest, TransactionId, types,
};
use serde_json::value::RawValue;

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).expect("JSON")
}

fn decode(message_type: &str, json: &str) -> Result<PxpMessageBody, PxpBodyError> {
    PxpMessageBody::decode(message_type, Some(&raw(json)))
}

fn id(text: &str) -> TransactionId {
    text.parse().expect("an id")
}

#[test]
fn every_type_is_read_and_written() {
    let table = [
        (
            types::BLOCKING_REQUEST,
            r#"{"transaction_id":"7","module":"ping","action":"ping","params":{}}"#,
        ),
        (
            types::NON_BLOCKING_REQUEST,
            r#"{"transaction_id":"7","module":"task","action":"run","params":{"a": 1},"notify_outcome":false}"#,
        ),
        (types::PROVISIONAL_RESPONSE, r#"{"transaction_id":"7"}"#),
        (
            types::BLOCKING_RESPONSE,
            r#"{"transaction_id":"7","results":{"outcome": "x"}}"#,
        ),
        (
            types::NON_BLOCKING_RESPONSE,
            r#"{"transaction_id":"7","results":[1]}"#,
        ),
        (
            types::RPC_ERROR,
            r#"{"transaction_id":"7","id":"11111111-2222-3333-4444-555555555555","description":"no"}"#,
        ),
        (types::OUTCOME_ACK, r#"{"transaction_id":"7"}"#),
        (
            types::OUTPUT,
            r#"{"transaction_id":"7","stream":"stderr","offset":5,"data":"ä"}"#,
        ),
        (
            types::OUTPUT,
            r#"{"transaction_id":"7","stream":"stdout","offset":0,"data_base64":"/w=="}"#,
        ),
        (
            types::OUTPUT_CREDIT,
            r#"{"transaction_id":"7","until":65536}"#,
        ),
        (types::CANCEL, r#"{"transaction_id":"7","force":true}"#),
    ];
    for (message_type, json) in table {
        let body = decode(message_type, json).expect(json);
        assert_eq!(body.message_type(), message_type);
        assert_eq!(body.transaction_id(), &id("7"));
        assert_eq!(body.encode().get(), json);
    }
}

#[test]
fn schemas_are_closed() {
    let invalid = |message_type, json| match decode(message_type, json) {
        Err(PxpBodyError::Invalid(reason)) => reason,
        other => panic!("{json}: {other:?}"),
    };
    let request = types::BLOCKING_REQUEST;
    let table = [
        (request, "5", "not an object"),
        (request, r#"["7","ping","ping"]"#, "not an object"),
        (
            request,
            r#"{"module":"m","action":"a"}"#,
            "the key \"transaction_id\" is missing",
        ),
        (
            request,
            r#"{"transaction_id":"7","action":"a"}"#,
            "the key \"module\" is missing",
        ),
        (
            request,
            r#"{"transaction_id":"../x","module":"m","action":"a"}"#,
            "a transaction id is 1 to 128",
        ),
        (
            request,
            r#"{"transaction_id":"7","module":"m","action":"a","x":1}"#,
            "unknown key \"x\"; the keys here are",
        ),
        (
            request,
            r#"{"transaction_id":"7","transaction_id":"8","module":"m","action":"a"}"#,
            "occurs twice",
        ),
        (
            request,
            r#"{"transaction_id":"7","module":"m","action":"a","params":[]}"#,
            "must be an object",
        ),
        (
            request,
            r#"{"transaction_id":"7","module":"m","action":"a","notify_outcome":true}"#,
            "no place in a blocking request",
        ),
        (
            types::NON_BLOCKING_REQUEST,
            r#"{"transaction_id":"7","module":"m","action":"a"}"#,
            "the key \"notify_outcome\" is missing",
        ),
        (
            types::BLOCKING_RESPONSE,
            r#"{"transaction_id":"7"}"#,
            "the key \"results\" is missing",
        ),
        (
            types::RPC_ERROR,
            r#"{"transaction_id":"7","id":"x","description":"d"}"#,
            "not a UUID",
        ),
        (
            types::OUTPUT,
            r#"{"transaction_id":"7","stream":"stdin","offset":0,"data":""}"#,
            "\"stdin\" is not possible here; write one of \"stdout\", \"stderr\"",
        ),
        (
            types::OUTPUT,
            r#"{"transaction_id":"7","stream":"stdout","offset":0}"#,
            "exactly one",
        ),
        (
            types::OUTPUT,
            r#"{"transaction_id":"7","stream":"stdout","offset":0,"data":"","data_base64":""}"#,
            "exactly one",
        ),
        (
            types::OUTPUT,
            r#"{"transaction_id":"7","stream":"stdout","offset":0,"data_base64":"?"}"#,
            "not base64",
        ),
        (
            types::OUTPUT_CREDIT,
            r#"{"transaction_id":"7","until":-1}"#,
            "must be a whole number, 0 or more, not the number -1",
        ),
        (
            types::CANCEL,
            r#"{"transaction_id":"7","force":"yes"}"#,
            "must be true or false, not a string",
        ),
    ];
    for (message_type, json, expected) in table {
        let reason = invalid(message_type, json);
        assert!(reason.contains(expected), "{json}: {reason}");
        let wording = decode_errors::LIBRARY_WORDING;
        assert!(
            !wording.iter().any(|part| reason.contains(part)),
            "{reason}"
        );
    }
}

#[test]
fn no_data_is_told_from_bad_data() {
    let decode = |data| PxpMessageBody::decode(types::BLOCKING_REQUEST, data).unwrap_err();
    assert_eq!(decode(None), PxpBodyError::NoData);
    assert_eq!(
        decode(Some(&raw("null"))),
        PxpBodyError::NoData,
        "v1 brokers send null for none"
    );
    assert_eq!(
        PxpMessageBody::decode("x", None).unwrap_err(),
        PxpBodyError::UnknownType
    );
}

#[test]
fn errors_do_not_repeat_the_input() {
    let json = format!(
        r#"{{"transaction_id":"7","\u001b{}":1}}"#,
        "k".repeat(10_000)
    );
    let error = decode(types::OUTCOME_ACK, &json).unwrap_err().to_string();
    assert!(
        error.len() < 300 && !error.contains(char::is_control),
        "{error:?}"
    );
}

#[test]
fn absent_params_are_an_empty_object() {
    let json = r#"{"transaction_id":"7","module":"ping","action":"ping"}"#;
    let Ok(PxpMessageBody::BlockingRequest(request)) = decode(types::BLOCKING_REQUEST, json) else {
        panic!("not a request")
    };
    assert_eq!(request.params.get(), "{}");
}

#[test]
fn a_kind_of_request_writes_what_its_schema_wants() {
    let request = |notify_outcome| PxpRequest {
        transaction_id: id("7"),
        module: "m".into(),
        action: "a".into(),
        params: raw("{}"),
        notify_outcome,
        extended: None,
        file_servers: Vec::new(),
    };
    let blocking = PxpMessageBody::BlockingRequest(request(Some(true)));
    assert!(PxpMessageBody::decode(blocking.message_type(), Some(&blocking.encode())).is_ok());
    let non_blocking = PxpMessageBody::NonBlockingRequest(request(None));
    let encoded = non_blocking.encode();
    assert!(
        encoded.get().contains(r#""notify_outcome":true"#),
        "{encoded}"
    );
}

#[test]
fn output_keeps_every_byte() {
    for data in [&b""[..], b"text", b"\xff\x00\xfe", b"cut \xc3"] {
        let output = OutputPiece {
            transaction_id: id("7"),
            stream: ProcessStream::Stdout,
            offset: 9,
            data: Bytes::copy_from_slice(data),
        };
        let body = PxpMessageBody::Output(output.clone());
        let Ok(PxpMessageBody::Output(decoded)) =
            PxpMessageBody::decode(types::OUTPUT, Some(&body.encode()))
        else {
            panic!("not output")
        };
        assert_eq!(decoded, output);
    }
}

#[test]
fn a_message_carries_the_body() {
    let target: pcp::PcpUri = "pcp://a/agent".parse().unwrap();
    let body = PxpMessageBody::OutcomeAck {
        transaction_id: id("7"),
    };
    let message = body.into_message(target.clone(), pcp::PcpUri::broker());
    assert_eq!(message.message_type, types::OUTCOME_ACK);
    assert_eq!((message.target, message.in_reply_to), (Some(target), None));
}
