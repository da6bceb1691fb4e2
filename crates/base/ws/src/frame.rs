//! Frames: their header in bytes, and their encoding.

use bytes::{BufMut, BytesMut};

use crate::close::{is_sendable, truncate_reason};
use crate::defaults::MAX_CONTROL_BYTES;
use crate::{ConnectionSide, ProtocolError, mask};

const FIN: u8 = 0x80;
const RESERVED: u8 = 0x70;
const MASKED: u8 = 0x80;
/// Marker in the second byte: the length is in the next 2 or 8 bytes.
const LENGTH_16: u8 = 126;
const LENGTH_64: u8 = 127;

/// A frame to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutgoingFrame<'a> {
    /// A whole text message.
    Text(&'a str),
    /// A whole binary message.
    Binary(&'a [u8]),
    /// A ping, which the peer answers with a pong; truncated after 125 bytes.
    Ping(&'a [u8]),
    /// A pong with the ping's payload; truncated after 125 bytes.
    Pong(&'a [u8]),
    /// A close frame with code and reason. The reason is truncated after 123 bytes; a code that
    /// must not be sent, such as [`NO_STATUS`](crate::code::NO_STATUS), results in an empty close
    /// frame.
    Close(u16, &'a str),
}

/// Appends the frame to `out`, masked if there is a key: clients must mask, with a new random key
/// for each frame; servers must not.
pub fn encode(frame: OutgoingFrame<'_>, mask: Option<[u8; 4]>, out: &mut BytesMut) {
    let control = |payload: &'_ [u8]| payload.len().min(MAX_CONTROL_BYTES);
    match frame {
        OutgoingFrame::Text(text) => put_frame(FrameOpcode::Text, &[text.as_bytes()], mask, out),
        OutgoingFrame::Binary(bytes) => put_frame(FrameOpcode::Binary, &[bytes], mask, out),
        OutgoingFrame::Ping(bytes) => {
            put_frame(FrameOpcode::Ping, &[&bytes[..control(bytes)]], mask, out)
        }
        OutgoingFrame::Pong(bytes) => {
            put_frame(FrameOpcode::Pong, &[&bytes[..control(bytes)]], mask, out)
        }
        OutgoingFrame::Close(code, reason) if is_sendable(code) => {
            put_frame(
                FrameOpcode::Close,
                &[&code.to_be_bytes(), truncate_reason(reason).as_bytes()],
                mask,
                out,
            );
        }
        OutgoingFrame::Close(..) => put_frame(FrameOpcode::Close, &[], mask, out),
    }
}

fn put_frame(opcode: FrameOpcode, parts: &[&[u8]], key: Option<[u8; 4]>, out: &mut BytesMut) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    out.reserve(FrameHeader::MAX_BYTES + length);
    out.put_u8(FIN | opcode as u8);
    let masked = if key.is_some() { MASKED } else { 0 };
    match length {
        0..=125 => out.put_u8(masked | length as u8),
        126..=0xffff => {
            out.put_u8(masked | LENGTH_16);
            out.put_u16(length as u16);
        }
        _ => {
            out.put_u8(masked | LENGTH_64);
            out.put_u64(length as u64);
        }
    }
    out.put_slice(key.as_ref().map_or(&[], |key| key.as_slice()));
    let start = out.len();
    parts.iter().for_each(|part| out.put_slice(part));
    if let Some(key) = key {
        mask::apply(&mut out[start..], key);
    }
}

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameOpcode {
    Continuation = 0x0,
    Text = 0x1,
    Binary = 0x2,
    Close = 0x8,
    Ping = 0x9,
    Pong = 0xa,
}

impl FrameOpcode {
    fn of(byte: u8) -> Result<Self, ProtocolError> {
        Ok(match byte & 0x0f {
            0x0 => Self::Continuation,
            0x1 => Self::Text,
            0x2 => Self::Binary,
            0x8 => Self::Close,
            0x9 => Self::Ping,
            0xa => Self::Pong,
            reserved => return Err(ProtocolError::ReservedOpcode(reserved)),
        })
    }

    pub(crate) fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

/// The header of a received frame, checked by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) last: bool,
    pub(crate) opcode: FrameOpcode,
    pub(crate) key: Option<[u8; 4]>,
    /// Length of the header.
    pub(crate) header_bytes: usize,
    /// Length of the payload; below 2^63.
    pub(crate) payload_bytes: u64,
}

impl FrameHeader {
    /// Longest header: two bytes, a long length and a key.
    pub(crate) const MAX_BYTES: usize = 2 + 8 + 4;

    /// Reads a header that `role` received. `None`: the header is incomplete.
    pub(crate) fn parse(bytes: &[u8], role: ConnectionSide) -> Result<Option<Self>, ProtocolError> {
        let Some((&[first, second], rest)) = bytes.split_first_chunk() else {
            return Ok(None);
        };
        if first & RESERVED != 0 {
            return Err(ProtocolError::ReservedBits);
        }
        let (last, opcode) = (first & FIN != 0, FrameOpcode::of(first)?);
        match (role, second & MASKED != 0) {
            (ConnectionSide::Server, false) => return Err(ProtocolError::Unmasked),
            (ConnectionSide::Client, true) => return Err(ProtocolError::Masked),
            _ => {}
        }
        let short = second & !MASKED;
        if opcode.is_control() {
            if !last {
                return Err(ProtocolError::FragmentedControl);
            }
            if usize::from(short) > MAX_CONTROL_BYTES {
                return Err(ProtocolError::LongControl);
            }
        }
        let Some((payload_bytes, rest)) = payload_bytes(short, rest)? else {
            return Ok(None);
        };
        let (key, rest) = match role {
            ConnectionSide::Client => (None, rest),
            ConnectionSide::Server => match rest.split_first_chunk() {
                Some((key, rest)) => (Some(*key), rest),
                None => return Ok(None),
            },
        };
        let header_bytes = bytes.len() - rest.len();
        Ok(Some(Self {
            last,
            opcode,
            key,
            header_bytes,
            payload_bytes,
        }))
    }
}

/// The payload's length and the bytes after it. `None`: the length is incomplete.
fn payload_bytes(short: u8, rest: &[u8]) -> Result<Option<(u64, &[u8])>, ProtocolError> {
    let (length, least, rest) = match short {
        LENGTH_16 => {
            let Some((length, rest)) = rest.split_first_chunk() else {
                return Ok(None);
            };
            (
                u64::from(u16::from_be_bytes(*length)),
                u64::from(LENGTH_16),
                rest,
            )
        }
        LENGTH_64 => {
            let Some((length, rest)) = rest.split_first_chunk() else {
                return Ok(None);
            };
            (u64::from_be_bytes(*length), 0x1_0000, rest)
        }
        short => (u64::from(short), 0, rest),
    };
    if length < least {
        return Err(ProtocolError::LengthForm);
    }
    if length > i64::MAX as u64 {
        return Err(ProtocolError::LengthSign);
    }
    Ok(Some((length, rest)))
}
