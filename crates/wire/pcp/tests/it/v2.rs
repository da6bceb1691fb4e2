//! Valid and invalid PCP 2 texts.

use pcp::{MessageIdError, PcpDecodeError, PcpUriError, v2};

const ID: &str = "11111111-2222-3333-4444-555555555555";

fn with(members: &str) -> String {
    format!(r#"{{"id":"{ID}","message_type":"t"{members}}}"#)
}

fn error(text: &str) -> PcpDecodeError {
    v2::decode(text).expect_err("this is no message")
}

#[test]
fn reads_and_writes_every_key() {
    let text = with(&format!(
        r#","target":"pcp://a/agent","sender":"pcp:///server","in_reply_to":"{ID}","data":{{"x": [1]}}"#
    ));
    let message = v2::decode(&text).unwrap();
    assert_eq!(message.id.as_str(), ID);
    assert_eq!(message.message_type, "t");
    assert_eq!(message.target.as_ref().unwrap().common_name(), "a");
    assert!(message.sender.as_ref().unwrap().is_broker());
    assert_eq!(message.in_reply_to, Some(message.id));
    assert_eq!(
        message.data.unwrap().get(),
        r#"{"x": [1]}"#,
        "data is passed on as it was sent"
    );
    assert_eq!(v2::encode(&message.to_message()), text);
}

#[test]
fn only_id_and_type_are_required() {
    let text = with("");
    let message = v2::decode(&text).unwrap();
    assert!(message.target.is_none() && message.sender.is_none() && message.data.is_none());
    assert_eq!(v2::encode_ref(&message), text);
}

#[test]
fn null_and_false_are_data() {
    for data in ["null", "false", "0", r#""""#] {
        let text = with(&format!(r#","data":{data}"#));
        assert_eq!(v2::decode(&text).unwrap().data.unwrap().get(), data);
    }
}

#[test]
fn escapes_are_understood() {
    let text = with(r#","target":"pcp:\/\/\u00e4\/agent""#);
    assert_eq!(
        v2::decode(&text).unwrap().target.unwrap().as_str(),
        "pcp://ä/agent"
    );
    let text = format!(r#"{{"\u0069d":"{ID}","message_type":"t"}}"#);
    assert_eq!(v2::decode(&text).unwrap().id.as_str(), ID);
}

#[test]
fn says_what_is_wrong() {
    let wrong = |key, expected| PcpDecodeError::WrongType { key, expected };
    let table = [
        (
            "".to_owned(),
            PcpDecodeError::NotJson { line: 1, column: 0 },
        ),
        (
            "hello".to_owned(),
            PcpDecodeError::NotJson { line: 1, column: 1 },
        ),
        (
            with("") + "x",
            PcpDecodeError::NotJson {
                line: 1,
                column: with("").len() + 1,
            },
        ),
        (
            with(","),
            PcpDecodeError::NotJson {
                line: 1,
                column: with("").len() + 1,
            },
        ),
        ("[]".to_owned(), PcpDecodeError::NotObject),
        (r#""text""#.to_owned(), PcpDecodeError::NotObject),
        ("{}".to_owned(), PcpDecodeError::MissingKey("id")),
        (
            format!(r#"{{"id":"{ID}"}}"#),
            PcpDecodeError::MissingKey("message_type"),
        ),
        (
            with(r#","targets":[]"#),
            PcpDecodeError::UnknownKey("targets".into()),
        ),
        (
            with(r#","in-reply-to":"x""#),
            PcpDecodeError::UnknownKey("in-reply-to".into()),
        ),
        (
            with(r#","message_type":"u""#),
            PcpDecodeError::DuplicateKey("message_type"),
        ),
        (
            with(r#","data":1,"data":2"#),
            PcpDecodeError::DuplicateKey("data"),
        ),
        (with(r#","target":5"#), wrong("target", "a string")),
        (with(r#","target":null"#), wrong("target", "a string")),
        (with(r#","target":"\ud800""#), wrong("target", "a string")),
        (
            with(r#","in_reply_to":"x""#),
            PcpDecodeError::Id {
                key: "in_reply_to",
                problem: MessageIdError,
            },
        ),
        (
            with(r#","sender":"me""#),
            PcpDecodeError::Uri {
                key: "sender",
                problem: PcpUriError::Scheme,
            },
        ),
        (
            with("").replace(r#""t""#, r#""""#),
            PcpDecodeError::MessageTypeLength(0),
        ),
    ];
    for (text, expected) in table {
        assert_eq!(error(&text), expected, "{text}");
    }
}

#[test]
fn errors_do_not_repeat_the_input() {
    for key in ["k", "\u{7f}", "\u{200b}", "😀"] {
        let text = error(&with(&format!(r#","{}":1"#, key.repeat(10_000)))).to_string();
        assert!(text.chars().count() < 100, "{text}");
    }
    let text = error(&with(r#","\u001b[31m":1"#)).to_string();
    assert!(
        !text.contains('\u{1b}'),
        "control characters reach the log: {text}"
    );
}

#[test]
fn depth_is_limited() {
    let nested = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        with(&format!(r#","data":{open}"[[\"[["{close}"#))
    };
    assert!(v2::decode(&nested(127)).is_ok());
    assert_eq!(error(&nested(128)), PcpDecodeError::TooDeep);
    assert_eq!(error(&nested(1_000_000)), PcpDecodeError::TooDeep);
}
