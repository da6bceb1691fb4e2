//! Valid and invalid PCP 1 frames.

use std::borrow::Cow;

use pcp::{PcpDecodeError, v1};

const ID: &str = "11111111-2222-3333-4444-555555555555";

fn envelope(more: &str) -> String {
    format!(
        r#"{{"id":"{ID}","message_type":"t","targets":["pcp://a/agent"],"expires":"2026-11-21T06:08:12.545391Z","sender":"pcp://b/agent"{more}}}"#
    )
}

fn chunk(descriptor: u8, content: &[u8]) -> Vec<u8> {
    let length = i32::try_from(content.len())
        .expect("short content")
        .to_be_bytes();
    [&[descriptor], &length[..], content].concat()
}

fn frame(chunks: &[Vec<u8>]) -> Vec<u8> {
    [&[1], &chunks.concat()[..]].concat()
}

fn good() -> Vec<u8> {
    chunk(1, envelope("").as_bytes())
}

fn error(bytes: &[u8]) -> PcpDecodeError {
    v1::decode(bytes).expect_err("this is no frame")
}

#[test]
fn reads_a_frame_of_an_agent_and_writes_the_same() {
    let bytes = frame(&[good(), chunk(2, b"{}")]);
    let decoded = v1::decode(&bytes).unwrap();
    assert_eq!(decoded.envelope.id.as_str(), ID);
    assert_eq!(decoded.envelope.sender.common_name(), "b");
    assert_eq!(decoded.data, Some(Cow::Borrowed(&b"{}"[..])));
    let again = v1::encode(&decoded);
    assert_eq!(v1::decode(&again).unwrap(), decoded);
}

#[test]
fn times_are_printed_as_peers_print_them() {
    let bytes = frame(&[good()]);
    let mut decoded = v1::decode(&bytes).unwrap();
    let text =
        |frame: &v1::FrameRef<'_>| String::from_utf8(v1::encode(frame)[6..].to_vec()).unwrap();
    assert!(text(&decoded).contains(r#""expires":"2026-11-21T06:08:12.545391Z""#));
    decoded.envelope.expires = jiff::Timestamp::UNIX_EPOCH;
    assert!(text(&decoded).contains(r#""expires":"1970-01-01T00:00:00.000Z""#));
}

#[test]
fn flags_and_debug_chunks_are_ignored() {
    let bytes = frame(&[
        chunk(0xf1, envelope("").as_bytes()),
        chunk(0x33, b"not even JSON"),
        chunk(0x82, b"1"),
        chunk(3, b""),
    ]);
    assert_eq!(
        v1::decode(&bytes).unwrap().data,
        Some(Cow::Borrowed(&b"1"[..]))
    );
}

#[test]
fn old_keys_of_the_envelope_are_accepted() {
    let more = format!(r#","destination_report":true,"in-reply-to":"{ID}""#);
    let bytes = frame(&[chunk(1, envelope(&more).as_bytes())]);
    let decoded = v1::decode(&bytes).unwrap();
    assert!(decoded.envelope.destination_report);
    assert_eq!(decoded.envelope.in_reply_to, Some(decoded.envelope.id));
}

#[test]
fn says_what_is_wrong_with_the_chunks() {
    let good_bytes = good().len();
    let table = [
        (vec![], PcpDecodeError::TooShort(0)),
        (vec![1, 1, 0, 0, 0], PcpDecodeError::TooShort(5)),
        (vec![0; 250], PcpDecodeError::Version(0)),
        (vec![2; 250], PcpDecodeError::Version(2)),
        (frame(&[chunk(2, b"{}")]), PcpDecodeError::NoEnvelope),
        (
            frame(&[chunk(3, b"{}"), good()]),
            PcpDecodeError::NoEnvelope,
        ),
        (
            frame(&[good(), good()]),
            PcpDecodeError::RepeatedChunk("envelope"),
        ),
        (
            frame(&[good(), chunk(2, b"1"), chunk(2, b"2")]),
            PcpDecodeError::RepeatedChunk("data"),
        ),
        (
            frame(&[good(), chunk(4, b"")]),
            PcpDecodeError::ChunkType {
                offset: 1 + good_bytes,
                kind: 4,
            },
        ),
        (
            vec![1, 1, 0xff, 0xff, 0xff, 0xff, 0],
            PcpDecodeError::ChunkLength {
                offset: 1,
                said: -1,
                left: 1,
            },
        ),
        (
            vec![1, 1, 0x7f, 0xff, 0xff, 0xff, 0],
            PcpDecodeError::ChunkLength {
                offset: 1,
                said: i32::MAX,
                left: 1,
            },
        ),
        (
            frame(&[good(), vec![2, 0, 0]]),
            PcpDecodeError::ChunkLength {
                offset: 1 + good_bytes,
                said: 0,
                left: 3,
            },
        ),
        (
            frame(&[chunk(1, b"\xff")]),
            PcpDecodeError::NotUtf8("envelope"),
        ),
        (
            frame(&[chunk(1, b"")]),
            PcpDecodeError::NotJson { line: 1, column: 0 },
        ),
    ];
    for (bytes, expected) in table {
        assert_eq!(error(&bytes), expected, "{bytes:?}");
    }
}

#[test]
fn says_what_is_wrong_with_the_envelope() {
    let cases = [
        (
            r#","expires":"2026-11-21T06:08:12.545391Z""#,
            "",
            PcpDecodeError::MissingKey("expires"),
        ),
        (
            "2026-11-21T06:08:12.545391Z",
            "tomorrow",
            PcpDecodeError::Expires,
        ),
        (
            "2026-11-21T06:08:12.545391Z",
            "2026-11-21T06:08:12",
            PcpDecodeError::Expires,
        ),
        (
            r#","sender":"pcp://b/agent""#,
            "",
            PcpDecodeError::MissingKey("sender"),
        ),
        (
            r#","targets":["pcp://a/agent"]"#,
            "",
            PcpDecodeError::MissingKey("targets"),
        ),
        (
            r#"["pcp://a/agent"]"#,
            r#""pcp://a/agent""#,
            PcpDecodeError::WrongType {
                key: "targets",
                expected: "an array",
            },
        ),
        (
            r#"["pcp://a/agent"]"#,
            "[5]",
            PcpDecodeError::WrongType {
                key: "targets",
                expected: "a string",
            },
        ),
        (
            r#""sender""#,
            r#""target":"x","sender""#,
            PcpDecodeError::UnknownKey("target".into()),
        ),
        (
            r#""sender""#,
            r#""destination_report":1,"sender""#,
            PcpDecodeError::WrongType {
                key: "destination_report",
                expected: "true or false",
            },
        ),
    ];
    for (from, to, expected) in cases {
        let text = envelope("").replacen(from, to, 1);
        assert_eq!(
            error(&frame(&[chunk(1, text.as_bytes())])),
            expected,
            "{text}"
        );
    }
    let many = vec![r#""pcp://a/agent""#; 1_025].join(",");
    let text = envelope("").replacen(r#""pcp://a/agent""#, &many, 1);
    assert_eq!(
        error(&frame(&[chunk(1, text.as_bytes())])),
        PcpDecodeError::TooManyTargets
    );
}

#[test]
fn a_long_list_of_targets_is_read_one_by_one_and_no_further_than_its_limit() {
    let targets = |list: &[&str]| {
        let text = envelope("").replacen(r#""pcp://a/agent""#, &list.join(","), 1);
        v1::decode(&frame(&[chunk(1, text.as_bytes())]))
            .map(|frame| frame.envelope.targets.len())
            .map_err(|error| error.to_string())
    };
    let many = [r#""pcp://a/agent""#; pcp::defaults::MAX_V1_TARGETS];
    assert_eq!(targets(&many), Ok(many.len()));
    let too_many = PcpDecodeError::TooManyTargets.to_string();
    // Elements after the limit are not checked ...
    assert_eq!(targets(&[&many[..], &["5", "6"]].concat()), Err(too_many));
    // ... and the list is not counted before its elements are parsed.
    let wrong = targets(&[&["5"], &many[..]].concat());
    assert_eq!(wrong, Err("targets is not a string".to_owned()));
}

#[test]
fn an_envelope_is_small_however_large_the_message() {
    let padded = |bytes: usize| {
        let text = envelope("");
        format!("{text}{}", " ".repeat(bytes - text.len()))
    };
    let most = pcp::defaults::MAX_V1_ENVELOPE_BYTES;
    let data = vec![b'1'; 4 * most];
    let fits = frame(&[chunk(1, padded(most).as_bytes()), chunk(2, &data)]);
    assert!(v1::decode(&fits).is_ok());
    assert_eq!(
        error(&frame(&[chunk(1, padded(most + 1).as_bytes())])),
        PcpDecodeError::EnvelopeLength(most + 1)
    );
}
