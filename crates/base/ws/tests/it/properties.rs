//! Properties that hold for all inputs.

use bytes::{BufMut, BytesMut};
use proptest::collection::vec;
use proptest::prelude::*;
use ws::{
    CloseFrame, ConnectionSide, MessageDecoder, OutgoingFrame, ReceiveLimits, ReceivedEvent, encode,
};

use crate::entry;

const LIMITS: ReceiveLimits = ReceiveLimits {
    max_message_bytes: 200_000,
};

#[derive(Clone, Debug)]
enum Sent {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
}

impl Sent {
    fn frame(&self) -> OutgoingFrame<'_> {
        match self {
            Self::Text(text) => OutgoingFrame::Text(text),
            Self::Binary(bytes) => OutgoingFrame::Binary(bytes),
            Self::Ping(bytes) => OutgoingFrame::Ping(bytes),
            Self::Pong(bytes) => OutgoingFrame::Pong(bytes),
        }
    }

    fn event(self) -> ReceivedEvent {
        match self {
            Self::Text(text) => ReceivedEvent::Text(text),
            Self::Binary(bytes) => ReceivedEvent::Binary(bytes.into()),
            Self::Ping(bytes) => ReceivedEvent::Ping(bytes.into()),
            Self::Pong(bytes) => ReceivedEvent::Pong(bytes.into()),
        }
    }
}

fn sent() -> impl Strategy<Value = Sent> {
    prop_oneof![
        ".{0,300}".prop_map(Sent::Text),
        vec(any::<u8>(), 0..70_000).prop_map(Sent::Binary),
        vec(any::<u8>(), 0..=125).prop_map(Sent::Ping),
        vec(any::<u8>(), 0..=125).prop_map(Sent::Pong),
    ]
}

/// Decodes `bytes` in pieces of the given sizes, repeated cyclically.
fn receive(role: ConnectionSide, bytes: &[u8], sizes: &[usize]) -> Vec<ReceivedEvent> {
    let (mut decoder, mut buf, mut events) =
        (MessageDecoder::new(role, LIMITS), BytesMut::new(), vec![]);
    let mut rest = bytes;
    for size in sizes.iter().cycle() {
        let (piece, after) = rest.split_at((*size).min(rest.len()));
        buf.extend_from_slice(piece);
        rest = after;
        while let Some(event) = decoder.decode(&mut buf).expect("a good stream") {
            events.push(event);
        }
        if rest.is_empty() {
            break;
        }
    }
    assert_eq!(buf.capacity(), 0, "an idle connection holds memory");
    events
}

/// Appends a fragment of a message, a frame that `encode` does not produce.
fn fragment(opcode: u8, last: bool, payload: &[u8], out: &mut BytesMut) {
    let length = u8::try_from(payload.len())
        .ok()
        .filter(|length| *length <= 125);
    out.put_u8(opcode | if last { 0x80 } else { 0 });
    out.put_u8(length.expect("short pieces"));
    out.put_slice(payload);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_is_encoded_is_decoded(
        messages in vec(sent(), 0..8),
        sizes in vec(1usize..20_000, 1..6),
        key: Option<[u8; 4]>,
    ) {
        let mut bytes = BytesMut::new();
        messages.iter().for_each(|message| encode(message.frame(), key, &mut bytes));
        let role = if key.is_some() { ConnectionSide::Server } else { ConnectionSide::Client };
        let expected: Vec<ReceivedEvent> = messages.into_iter().map(Sent::event).collect();
        prop_assert_eq!(receive(role, &bytes, &sizes), expected);
    }

    #[test]
    fn fragments_are_joined_wherever_they_are_cut(
        text in ".{0,60}",
        cuts in vec(0usize..240, 0..5),
        sizes in vec(1usize..50, 1..4),
    ) {
        let payload = text.as_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(payload.len())).collect();
        cuts.extend([0, payload.len()]);
        cuts.sort_unstable();
        let mut bytes = BytesMut::new();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &payload[pair[0]..pair[1]]).collect();
        let short: Vec<&[u8]> = pieces.iter().flat_map(|piece| piece.chunks(125)).collect();
        let short = if short.is_empty() { vec![&[][..]] } else { short };
        for (index, piece) in short.iter().enumerate() {
            let opcode = if index == 0 { 1 } else { 0 };
            fragment(opcode, index + 1 == short.len(), piece, &mut bytes);
        }
        prop_assert_eq!(receive(ConnectionSide::Client, &bytes, &sizes), vec![ReceivedEvent::Text(text)]);
    }

    #[test]
    fn closes_come_through(code in 3000u16..5000, reason in "[a-zä]{0,50}") {
        let mut bytes = BytesMut::new();
        encode(OutgoingFrame::Close(code, &reason), None, &mut bytes);
        let close = ReceivedEvent::Close(Some(CloseFrame { code, reason }));
        prop_assert_eq!(receive(ConnectionSide::Client, &bytes, &[3]), vec![close]);
    }

    #[test]
    fn arbitrary_bytes_never_panic(data in vec(any::<u8>(), 0..600)) {
        entry::decoder(&data);
        entry::handshake(&data);
    }

    #[test]
    fn nearly_good_frames_never_panic(
        first in prop::sample::select(vec![0x00u8, 0x01, 0x02, 0x80, 0x81, 0x82, 0x88, 0x89, 0x8a]),
        second: u8,
        rest in vec(any::<u8>(), 0..300),
    ) {
        let mut data = vec![first, second];
        data.extend(rest);
        entry::decoder(&data);
    }

    #[test]
    fn nearly_good_heads_never_panic(
        line in "(GET|POST) /[a-z]{0,9} HTTP/1.[01]\r\n",
        headers in "([A-Za-z-]{1,12}: ?[ -~]{0,20}\r?\n){0,6}",
    ) {
        entry::handshake(format!("{line}{headers}\r\n").as_bytes());
        entry::handshake(format!("HTTP/1.1 101 x\r\n{headers}\r\n").as_bytes());
    }
}
