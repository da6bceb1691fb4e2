//! Entry points of fuzzing and property tests for arbitrary bytes. Invariant: no panic, and the
//! properties of every input are asserted here.

use bytes::BytesMut;
use ws::handshake::{Request, Response};
use ws::{Decoder, Limits, ProtocolError, Role};

const LIMITS: Limits = Limits {
    max_message_bytes: 4_096,
};

/// Decodes bytes as both roles, whole and byte by byte: both ways must give the same events.
pub(crate) fn decoder(data: &[u8]) {
    for role in [Role::Client, Role::Server] {
        let whole = run(role, [data].into_iter());
        let split = run(role, data.chunks(1));
        assert_eq!(whole, split, "the result depends on how the bytes arrived");
    }
}

/// Reads a head as both request and response.
pub(crate) fn handshake(data: &[u8]) {
    let mut buf = BytesMut::from(data);
    if let Ok(Some(request)) = Request::read(&mut buf) {
        assert!(buf.len() < data.len());
        let _ = request.upgrade();
    }
    let mut buf = BytesMut::from(data);
    if let Ok(Some(response)) = Response::read(&mut buf) {
        assert!((100..=999).contains(&response.status));
    }
}

fn run<'a>(
    role: Role,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<ws::Event>, Option<ProtocolError>) {
    let (mut decoder, mut buf, mut events) = (Decoder::new(role, LIMITS), BytesMut::new(), vec![]);
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
