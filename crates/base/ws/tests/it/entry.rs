//! Entry points of fuzzing and property tests for arbitrary bytes. Invariant: no panic, and the
//! properties of every input are asserted here.

use bytes::BytesMut;
use ws::handshake::{HttpRequestHead, HttpResponseHead};
use ws::{ConnectionSide, MessageDecoder, ProtocolError, ReceiveLimits};

const LIMITS: ReceiveLimits = ReceiveLimits {
    max_message_bytes: 4_096,
};

/// Decodes bytes as both roles, whole and byte by byte: both ways must give the same events.
pub(crate) fn decoder(data: &[u8]) {
    for role in [ConnectionSide::Client, ConnectionSide::Server] {
        let whole = run(role, [data].into_iter());
        let split = run(role, data.chunks(1));
        assert_eq!(whole, split, "the result depends on how the bytes arrived");
    }
}

/// Reads a head as both request and response.
pub(crate) fn handshake(data: &[u8]) {
    let mut buf = BytesMut::from(data);
    if let Ok(Some(request)) = HttpRequestHead::read(&mut buf) {
        assert!(buf.len() < data.len());
        let _ = request.check_upgrade();
    }
    let mut buf = BytesMut::from(data);
    if let Ok(Some(response)) = HttpResponseHead::read(&mut buf) {
        assert!((100..=999).contains(&response.status));
    }
}

fn run<'a>(
    role: ConnectionSide,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<ws::ReceivedEvent>, Option<ProtocolError>) {
    let (mut decoder, mut buf, mut events) =
        (MessageDecoder::new(role, LIMITS), BytesMut::new(), vec![]);
    for piece in pieces {
        buf.extend_from_slice(piece);
        loop {
            match decoder.decode(&mut buf) {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(error) => {
                    assert!(matches!(error.close_code(), 1002 | 1007 | 1009));
                    return (events, Some(error));
                }
            }
        }
        assert!(decoder.missing_bytes(&buf) >= 1);
    }
    (events, None)
}
