//! Decoding of messages from bytes.
//!
//! [`MessageDecoder`] takes complete frames off the front of a buffer that the caller owns and
//! fills. Invariant: between messages it holds nothing, and leaves nothing in the buffer; the
//! memory of a large message is handed over with the message.

use bytes::{Buf as _, Bytes, BytesMut};

use crate::close::{self, CloseFrame};
use crate::defaults::DETACH_BYTES;
use crate::error::{DataKind, ProtocolError};
use crate::frame::{FrameHeader, FrameOpcode};
use crate::mask;

/// The side of a connection. A server accepts only masked frames, a client only unmasked ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionSide {
    /// The side that connected.
    Client,
    /// The side that accepted.
    Server,
}

/// Limits of the messages that a peer may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveLimits {
    /// Largest message in bytes, all its fragments together.
    pub max_message_bytes: usize,
}

/// A message or control frame that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceivedEvent {
    /// A whole text message.
    Text(String),
    /// A whole binary message.
    Binary(Bytes),
    /// A ping, to be answered with a pong of the same payload.
    Ping(Bytes),
    /// The answer to a ping, or an unsolicited sign of life.
    Pong(Bytes),
    /// The peer closes; everything that follows is ignored.
    Close(Option<CloseFrame>),
}

/// An incomplete message, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncompleteMessage {
    /// Bytes received so far, in the decoder and in the caller's buffer.
    pub held_bytes: usize,
    /// Largest possible size: as announced, or the limit if the message comes in fragments.
    pub at_most_bytes: usize,
}

/// Decodes one direction of one connection.
#[derive(Debug)]
pub struct MessageDecoder {
    role: ConnectionSide,
    closed: bool,
    limits: ReceiveLimits,
    /// Boxed: most connections never see a fragment.
    message: Option<Box<FragmentedMessage>>,
}

/// A message in fragments.
#[derive(Debug)]
struct FragmentedMessage {
    kind: DataKind,
    payload: Vec<u8>,
    /// Length of the part of a text that is known to be UTF-8; a character may be split by a
    /// fragment's end.
    valid_bytes: usize,
}

// === impl MessageDecoder ===

impl MessageDecoder {
    /// A decoder for what `role` receives.
    pub fn new(role: ConnectionSide, limits: ReceiveLimits) -> Self {
        Self {
            role,
            closed: false,
            limits,
            message: None,
        }
    }

    /// Takes the next event off the front of `buf`. `None`: more bytes are needed; the received
    /// ones stay in `buf`. After an error the decoder must not be used again.
    pub fn decode(&mut self, buf: &mut BytesMut) -> Result<Option<ReceivedEvent>, ProtocolError> {
        while !self.closed {
            let Some(header) = FrameHeader::parse(buf, self.role)? else {
                break;
            };
            self.check(&header)?;
            let payload_bytes = usize::try_from(header.payload_bytes)
                .expect("checked against the limit, which is a usize");
            if buf.len() - header.header_bytes < payload_bytes {
                break;
            }
            if let Some(event) = self.take(header, payload_bytes, buf)? {
                return Ok(Some(event));
            }
        }
        if self.closed || buf.is_empty() {
            // Also releases the memory.
            *buf = BytesMut::new();
        }
        Ok(None)
    }

    /// The number of bytes that the frame at the front of `buf` still lacks, for a caller that
    /// reserves them at once; 1 if the header is not complete. Bounded by the limits, as
    /// [`MessageDecoder::decode`] has checked the header.
    pub fn missing_bytes(&self, buf: &BytesMut) -> usize {
        match FrameHeader::parse(buf, self.role) {
            Ok(Some(header)) => {
                let payload_bytes = header
                    .payload_bytes
                    .min(self.limits.max_message_bytes as u64);
                (header.header_bytes + payload_bytes as usize)
                    .saturating_sub(buf.len())
                    .max(1)
            }
            _ => 1,
        }
    }

    /// The message that is being received. Only meaningful when [`MessageDecoder::decode`] needs
    /// more bytes.
    pub fn incomplete_message(&self, buf: &BytesMut) -> IncompleteMessage {
        let fragments_bytes = self.message.as_ref().map_or(0, |m| m.payload.len());
        let at_most_bytes = match (&self.message, FrameHeader::parse(buf, self.role)) {
            (None, Ok(None)) => buf.len(),
            (None, Ok(Some(header))) if header.last => buf.len() + self.missing_bytes(buf),
            _ => self.limits.max_message_bytes,
        };
        IncompleteMessage {
            held_bytes: fragments_bytes + buf.len(),
            at_most_bytes,
        }
    }

    /// Checks a header against the previous frames, and the announced size against the limit.
    fn check(&self, header: &FrameHeader) -> Result<(), ProtocolError> {
        let (kind, so_far) = match (header.opcode, &self.message) {
            (opcode, _) if opcode.is_control() => return Ok(()),
            (FrameOpcode::Continuation, Some(message)) => (message.kind, message.payload.len()),
            (FrameOpcode::Continuation, None) => return Err(ProtocolError::NothingToContinue),
            (_, Some(_)) => return Err(ProtocolError::Interleaved),
            (FrameOpcode::Text, None) => (DataKind::Text, 0),
            (_, None) => (DataKind::Binary, 0),
        };
        let max_bytes = self.limits.max_message_bytes;
        // Cannot overflow: one is below 2^63, the other an object in memory.
        let size_bytes = so_far as u64 + header.payload_bytes;
        if size_bytes > max_bytes as u64 {
            return Err(ProtocolError::TooLarge {
                kind,
                size_bytes,
                max_bytes,
            });
        }
        Ok(())
    }

    /// Takes a complete frame. `None`: the message continues.
    fn take(
        &mut self,
        header: FrameHeader,
        payload_bytes: usize,
        buf: &mut BytesMut,
    ) -> Result<Option<ReceivedEvent>, ProtocolError> {
        buf.advance(header.header_bytes);
        if let Some(key) = header.key {
            mask::apply(&mut buf[..payload_bytes], key);
        }
        let event = match (header.opcode, header.last) {
            (FrameOpcode::Ping, _) => ReceivedEvent::Ping(cut(buf, payload_bytes).into()),
            (FrameOpcode::Pong, _) => ReceivedEvent::Pong(cut(buf, payload_bytes).into()),
            (FrameOpcode::Close, _) => {
                let frame = close::parse(&cut(buf, payload_bytes).into())?;
                self.closed = true;
                self.message = None;
                ReceivedEvent::Close(frame)
            }
            (FrameOpcode::Text, true) => {
                let text = String::from_utf8(cut(buf, payload_bytes));
                ReceivedEvent::Text(text.map_err(|_| ProtocolError::NotUtf8)?)
            }
            (FrameOpcode::Binary, true) => ReceivedEvent::Binary(cut(buf, payload_bytes).into()),
            (opcode, last) => {
                let kind = if opcode == FrameOpcode::Binary {
                    DataKind::Binary
                } else {
                    DataKind::Text
                };
                let message = self
                    .message
                    .get_or_insert_with(|| Box::new(FragmentedMessage::new(kind)));
                message.push(&buf[..payload_bytes])?;
                buf.advance(payload_bytes);
                let complete = if last { self.message.take() } else { None };
                return complete.map(|message| message.finish()).transpose();
            }
        };
        Ok(Some(event))
    }
}

// === impl FragmentedMessage ===

impl FragmentedMessage {
    fn new(kind: DataKind) -> Self {
        Self {
            kind,
            payload: Vec::new(),
            valid_bytes: 0,
        }
    }

    /// Refuses invalid text with the fragment that makes it invalid.
    fn push(&mut self, fragment: &[u8]) -> Result<(), ProtocolError> {
        self.payload.extend_from_slice(fragment);
        if self.kind == DataKind::Text {
            self.valid_bytes += match std::str::from_utf8(&self.payload[self.valid_bytes..]) {
                Ok(text) => text.len(),
                Err(error) if error.error_len().is_none() => error.valid_up_to(),
                Err(_) => return Err(ProtocolError::NotUtf8),
            };
        }
        Ok(())
    }

    fn finish(self) -> Result<ReceivedEvent, ProtocolError> {
        match self.kind {
            DataKind::Binary => Ok(ReceivedEvent::Binary(self.payload.into())),
            DataKind::Text => {
                let text = String::from_utf8(self.payload);
                text.map(ReceivedEvent::Text)
                    .map_err(|_| ProtocolError::NotUtf8)
            }
        }
    }
}

/// Takes the first bytes of `buf`. A small number is copied; a large one is detached with its
/// memory, and the few bytes that follow move to a buffer of their own.
fn cut(buf: &mut BytesMut, bytes: usize) -> Vec<u8> {
    if bytes < DETACH_BYTES {
        let payload = buf[..bytes].to_vec();
        buf.advance(bytes);
        return payload;
    }
    let payload = buf.split_to(bytes);
    if buf.len() < DETACH_BYTES {
        *buf = BytesMut::from(&buf[..]);
    }
    // Not copied if nothing else refers to the memory.
    payload.into()
}
