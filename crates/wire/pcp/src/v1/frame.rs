//! The bytes of a v1 frame: a version byte, then chunks of descriptor, length and content.

use std::borrow::Cow;

use super::EnvelopeRef;
use crate::PcpDecodeError;

const VERSION: u8 = 1;
/// Descriptor (1) and signed big-endian length (4).
const CHUNK_HEADER_BYTES: usize = 5;
/// The high four bits of a descriptor are flags without any defined meaning: masked and ignored.
const TYPE_MASK: u8 = 0x0f;
const ENVELOPE: u8 = 1;
const DATA: u8 = 2;
const DEBUG: u8 = 3;

/// A v1 message, split into its chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameRef<'a> {
    /// Content of the envelope chunk, checked in full.
    pub envelope: EnvelopeRef<'a>,
    /// Content of the data chunk, unchecked bytes; JSON for every known type.
    pub data: Option<Cow<'a, [u8]>>,
}

/// Decodes the bytes of one frame. The result borrows from them.
///
/// Up to four trailing bytes, too few for a chunk's header, are refused like any other chunk that
/// does not fit: a truncated frame is not a message.
pub fn decode(bytes: &[u8]) -> Result<FrameRef<'_>, PcpDecodeError> {
    if bytes.len() <= CHUNK_HEADER_BYTES {
        return Err(PcpDecodeError::TooShort(bytes.len()));
    }
    if bytes[0] != VERSION {
        return Err(PcpDecodeError::Version(bytes[0]));
    }
    let (mut envelope, mut data, mut offset) = (None, None, 1);
    while offset < bytes.len() {
        let (kind, content) = chunk(bytes, offset)?;
        match kind {
            ENVELOPE if envelope.is_some() => {
                return Err(PcpDecodeError::RepeatedChunk("envelope"));
            }
            ENVELOPE => envelope = Some(content),
            _ if envelope.is_none() => return Err(PcpDecodeError::NoEnvelope),
            DATA if data.is_some() => return Err(PcpDecodeError::RepeatedChunk("data")),
            DATA => data = Some(Cow::Borrowed(content)),
            DEBUG => {}
            kind => return Err(PcpDecodeError::ChunkType { offset, kind }),
        }
        offset += CHUNK_HEADER_BYTES + content.len();
    }
    let envelope = envelope.ok_or(PcpDecodeError::NoEnvelope)?;
    Ok(FrameRef {
        envelope: EnvelopeRef::decode(envelope)?,
        data,
    })
}

/// Encodes the bytes of one frame.
///
/// # Panics
/// When a chunk is longer than 2 GiB, which exceeds every WebSocket limit.
pub fn encode(frame: &FrameRef<'_>) -> Vec<u8> {
    let envelope =
        serde_json::to_vec(&frame.envelope).expect("strings and numbers always serialise");
    let data_bytes = frame
        .data
        .as_ref()
        .map_or(0, |data| CHUNK_HEADER_BYTES + data.len());
    let mut out = Vec::with_capacity(1 + CHUNK_HEADER_BYTES + envelope.len() + data_bytes);
    out.push(VERSION);
    put_chunk(&mut out, ENVELOPE, &envelope);
    if let Some(data) = &frame.data {
        put_chunk(&mut out, DATA, data);
    }
    out
}

/// Type and content of the chunk at `offset`.
fn chunk(bytes: &[u8], offset: usize) -> Result<(u8, &[u8]), PcpDecodeError> {
    let rest = &bytes[offset..];
    let Some((&[descriptor, l0, l1, l2, l3], rest)) = rest.split_first_chunk() else {
        return Err(PcpDecodeError::ChunkLength {
            offset,
            said: 0,
            left: rest.len(),
        });
    };
    let said = i32::from_be_bytes([l0, l1, l2, l3]);
    let content = usize::try_from(said)
        .ok()
        .and_then(|length| rest.get(..length));
    let content = content.ok_or(PcpDecodeError::ChunkLength {
        offset,
        said,
        left: rest.len(),
    })?;
    Ok((descriptor & TYPE_MASK, content))
}

fn put_chunk(out: &mut Vec<u8>, kind: u8, content: &[u8]) {
    let length = i32::try_from(content.len()).expect("messages are bounded far below 2 GiB");
    out.push(kind);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(content);
}
