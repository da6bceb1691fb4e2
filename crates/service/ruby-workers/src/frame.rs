//! Frames of the connections: a length of 32 bits, most significant byte first, and JSON.
//!
//! Invariant: no more than one frame of the greatest length is kept in memory.

use serde_json::Value as Json;

/// Length of the header.
const HEADER: usize = 4;

/// Bytes that were received and not yet taken as frames.
#[derive(Debug, Default)]
pub(crate) struct FrameBuffer {
    bytes: Vec<u8>,
}

/// A frame announces more bytes than allowed.
#[derive(Debug)]
pub(crate) struct FrameTooLong;

// === impl FrameBuffer ===

impl FrameBuffer {
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next complete frame.
    pub(crate) fn take(&mut self, max: usize) -> Result<Option<Vec<u8>>, FrameTooLong> {
        let Some((header, rest)) = self.bytes.split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*header) as usize;
        if length > max {
            return Err(FrameTooLong);
        }
        let Some(frame) = rest.get(..length) else {
            return Ok(None);
        };
        let frame = frame.to_vec();
        self.bytes.drain(..HEADER + length);
        Ok(Some(frame))
    }
}

/// The frame of a message; `None` if it is longer than `max`.
pub(crate) fn encode(message: &Json, max: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; HEADER];
    // a `Vec` takes all that is written, and JSON has only keys that are texts
    serde_json::to_writer(&mut bytes, message).ok()?;
    let length = bytes.len() - HEADER;
    if length > max {
        return None;
    }
    let header = u32::try_from(length).ok()?.to_be_bytes();
    bytes[..HEADER].copy_from_slice(&header);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{FrameBuffer, encode};
    use serde_json::json;

    #[test]
    fn frames_are_taken_when_they_are_complete() {
        let frame = encode(&json!({"op": "end"}), 100).expect("a short frame");
        let mut buffer = FrameBuffer::default();
        let (last, first) = frame.split_last().expect("a frame has bytes");
        buffer.extend(first);
        assert!(buffer.take(100).expect("short enough").is_none());
        buffer.extend(&[*last]);
        buffer.extend(&frame[..6]);
        let taken = buffer.take(100).expect("short enough").expect("complete");
        assert_eq!(taken, br#"{"op":"end"}"#);
        assert!(buffer.take(100).expect("short enough").is_none());
    }

    #[test]
    fn long_frames_are_refused_in_both_directions() {
        assert!(encode(&json!("x".repeat(100)), 100).is_none());
        let mut buffer = FrameBuffer::default();
        buffer.extend(&[0xff; 4]);
        assert!(buffer.take(100).is_err());
    }
}
