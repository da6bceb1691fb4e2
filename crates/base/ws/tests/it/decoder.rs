//! The decoder against the rules of RFC 6455, frame by frame.

use bytes::{Bytes, BytesMut};
use ws::{
    CloseFrame, ConnectionSide, DataKind, IncompleteMessage, MessageDecoder, OutgoingFrame,
    ProtocolError, ReceiveLimits, ReceivedEvent, encode,
};

const LIMITS: ReceiveLimits = ReceiveLimits {
    max_message_bytes: 1_000,
};

fn client() -> MessageDecoder {
    MessageDecoder::new(ConnectionSide::Client, LIMITS)
}

fn all(bytes: &[u8]) -> Result<Vec<ReceivedEvent>, ProtocolError> {
    let (mut decoder, mut buf, mut events) = (client(), BytesMut::from(bytes), vec![]);
    while let Some(event) = decoder.decode(&mut buf)? {
        events.push(event);
    }
    Ok(events)
}

fn error(bytes: &[u8]) -> ProtocolError {
    all(bytes).expect_err("these bytes break the protocol")
}

#[test]
fn refuses_what_the_protocol_forbids() {
    let table: &[(&[u8], ProtocolError, u16)] = &[
        (&[0xc1, 0], ProtocolError::ReservedBits, 1002),
        (&[0xa1, 0], ProtocolError::ReservedBits, 1002),
        (&[0x91, 0], ProtocolError::ReservedBits, 1002),
        (&[0x83, 0], ProtocolError::ReservedOpcode(3), 1002),
        (&[0x8b, 0], ProtocolError::ReservedOpcode(11), 1002),
        (&[0x81, 0x80, 0, 0, 0, 0], ProtocolError::Masked, 1002),
        (&[0x09, 0], ProtocolError::FragmentedControl, 1002),
        (&[0x89, 126, 0, 126], ProtocolError::LongControl, 1002),
        (&[0x81, 126, 0, 125], ProtocolError::LengthForm, 1002),
        (
            &[0x81, 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff],
            ProtocolError::LengthForm,
            1002,
        ),
        (
            &[0x81, 127, 0x80, 0, 0, 0, 0, 0, 0, 0],
            ProtocolError::LengthSign,
            1002,
        ),
        (&[0x80, 0], ProtocolError::NothingToContinue, 1002),
        (&[0x01, 1, b'a', 0x81, 0], ProtocolError::Interleaved, 1002),
        (&[0x81, 1, 0xff], ProtocolError::NotUtf8, 1007),
        (&[0x88, 1, 3], ProtocolError::CloseLength, 1002),
        (&[0x88, 3, 0x03, 0xe8, 0xff], ProtocolError::NotUtf8, 1007),
    ];
    for (bytes, expected, close_code) in table {
        let found = error(bytes);
        assert_eq!(found, *expected, "{bytes:x?}");
        assert_eq!(found.close_code(), *close_code, "{bytes:x?}");
    }
}

#[test]
fn a_server_takes_only_masked_frames() {
    let mut decoder = MessageDecoder::new(ConnectionSide::Server, LIMITS);
    let mut buf = BytesMut::from(&[0x81, 1, b'a'][..]);
    assert_eq!(decoder.decode(&mut buf), Err(ProtocolError::Unmasked));
}

#[test]
fn refuses_close_codes_that_cannot_be_sent() {
    for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535] {
        let [high, low] = u16::to_be_bytes(code);
        assert_eq!(error(&[0x88, 2, high, low]), ProtocolError::CloseCode(code));
    }
    for code in [1000, 1003, 1007, 1014, 3000, 4002, 4999] {
        let [high, low] = u16::to_be_bytes(code);
        let close = CloseFrame {
            code,
            reason: "x".into(),
        };
        assert_eq!(
            all(&[0x88, 3, high, low, b'x']),
            Ok(vec![ReceivedEvent::Close(Some(close))])
        );
    }
}

#[test]
fn nothing_follows_a_close() {
    let events = all(&[0x88, 0, 0xff, 0xff, 0xff]);
    assert_eq!(events, Ok(vec![ReceivedEvent::Close(None)]));
}

#[test]
fn knows_from_the_header_that_a_message_is_too_large() {
    let found = error(&[0x81, 127, 0, 0, 0, 0, 0x04, 0x1e, 0xb0, 0x80]);
    assert_eq!(found.close_code(), 1009);
    assert_eq!(
        found.to_string(),
        "Text message size [69120128] exceeds maximum size [1000]"
    );
}

#[test]
fn fragments_count_together() {
    let mut bytes = vec![0x02, 126, 0x02, 0x58];
    bytes.extend([0; 600]);
    bytes.extend([0x80, 126, 0x01, 0x91]);
    let too_large = ProtocolError::TooLarge {
        kind: DataKind::Binary,
        size_bytes: 1001,
        max_bytes: 1000,
    };
    assert_eq!(error(&bytes), too_large);
}

#[test]
fn control_frames_may_stand_between_fragments() {
    let bytes = [
        0x01, 2, b'a', 0xc3, 0x89, 1, b'!', 0x00, 0, 0x80, 2, 0xa4, b'b',
    ];
    let expected = vec![
        ReceivedEvent::Ping(Bytes::from_static(b"!")),
        ReceivedEvent::Text("aäb".into()),
    ];
    assert_eq!(all(&bytes), Ok(expected));
}

#[test]
fn bad_text_is_refused_with_the_fragment_that_makes_it_so() {
    // The message is not complete: the final frame is missing.
    assert_eq!(
        error(&[0x01, 1, 0xc3, 0x00, 1, b'a']),
        ProtocolError::NotUtf8
    );
    // A character is cut off by the end of the message.
    assert_eq!(
        error(&[0x01, 1, b'a', 0x80, 1, 0xc3]),
        ProtocolError::NotUtf8
    );
}

#[test]
fn limits_are_inclusive() {
    let mut buf = BytesMut::new();
    encode(OutgoingFrame::Binary(&[7; 1_000]), None, &mut buf);
    assert!(matches!(
        client().decode(&mut buf),
        Ok(Some(ReceivedEvent::Binary(_)))
    ));
    encode(OutgoingFrame::Binary(&[7; 1_001]), None, &mut buf);
    assert!(matches!(
        client().decode(&mut buf),
        Err(ProtocolError::TooLarge { .. })
    ));
}

#[test]
fn an_idle_connection_holds_no_memory() {
    let limits = ReceiveLimits {
        max_message_bytes: 10_000_000,
    };
    let mut decoder = MessageDecoder::new(ConnectionSide::Client, limits);
    let mut buf = BytesMut::new();
    for size in [10, 40_000, 9_000_000] {
        encode(OutgoingFrame::Text(&"x".repeat(size)), None, &mut buf);
        assert!(matches!(
            decoder.decode(&mut buf),
            Ok(Some(ReceivedEvent::Text(_)))
        ));
        assert_eq!(decoder.decode(&mut buf), Ok(None));
        assert_eq!(buf.capacity(), 0, "after a message of {size} bytes");
    }
    assert!(size_of::<MessageDecoder>() <= 32);
}

#[test]
fn what_follows_a_large_message_does_not_hold_its_memory() {
    let mut decoder = MessageDecoder::new(
        ConnectionSide::Client,
        ReceiveLimits {
            max_message_bytes: 2_000_000,
        },
    );
    let mut buf = BytesMut::new();
    encode(OutgoingFrame::Binary(&vec![1; 1_000_000]), None, &mut buf);
    buf.extend_from_slice(&[0x81, 5, b'h']);
    let event = decoder.decode(&mut buf);
    let Ok(Some(ReceivedEvent::Binary(payload))) = event else {
        panic!("not binary: {event:?}")
    };
    assert_eq!(payload.len(), 1_000_000);
    assert!(
        payload.is_unique(),
        "the buffer still refers to the payload's memory"
    );
    assert_eq!(decoder.missing_bytes(&buf), 4);
    buf.extend_from_slice(b"ello");
    assert_eq!(
        decoder.decode(&mut buf),
        Ok(Some(ReceivedEvent::Text("hello".into())))
    );
}

#[test]
fn long_control_payloads_are_cut_between_characters() {
    let mut buf = BytesMut::new();
    encode(OutgoingFrame::Close(1011, &"ä".repeat(100)), None, &mut buf);
    let close = CloseFrame {
        code: 1011,
        reason: "ä".repeat(61),
    };
    assert_eq!(
        client().decode(&mut buf),
        Ok(Some(ReceivedEvent::Close(Some(close))))
    );
    let mut buf = BytesMut::new();
    encode(OutgoingFrame::Ping(&[1; 200]), None, &mut buf);
    let expected = ReceivedEvent::Ping(vec![1; 125].into());
    assert_eq!(client().decode(&mut buf), Ok(Some(expected)));
}

#[test]
fn a_code_that_cannot_be_sent_makes_an_empty_close() {
    let mut buf = BytesMut::new();
    encode(
        OutgoingFrame::Close(ws::code::NO_STATUS, "gone"),
        None,
        &mut buf,
    );
    assert_eq!(
        client().decode(&mut buf),
        Ok(Some(ReceivedEvent::Close(None)))
    );
}

#[test]
fn tells_what_a_message_on_its_way_may_become() {
    let table: &[(&[u8], usize, usize)] = &[
        (&[], 0, 0),
        (&[0x81], 1, 1),
        // Announced: 4 bytes of header and 200 of payload, of which 2 are here.
        (&[0x81, 126, 0, 200, b'a', b'b'], 6, 204),
        // The first fragment of an unknown number.
        (&[0x01, 3, b'a'], 3, LIMITS.max_message_bytes),
        (&[0x01, 1, b'a', 0x80, 2, b'b'], 4, LIMITS.max_message_bytes),
    ];
    for (bytes, held_bytes, at_most_bytes) in table {
        let (mut decoder, mut buf) = (client(), BytesMut::from(*bytes));
        assert_eq!(decoder.decode(&mut buf), Ok(None), "{bytes:x?}");
        let expected = IncompleteMessage {
            held_bytes: *held_bytes,
            at_most_bytes: *at_most_bytes,
        };
        assert_eq!(decoder.incomplete_message(&buf), expected, "{bytes:x?}");
    }
}
