//! PCP 2: one JSON object in one WebSocket text frame.
//!
//! Keys: `id` and `message_type` (required), `target`, `sender`, `in_reply_to`, `data`; any other
//! is refused. Tutti's brokers and orchestrators also exchange `tutti_replaced_bytes`
//! ([`PcpMessage::has_replaced_bytes`]).

use crate::error::PcpDecodeError;
use crate::json;
use crate::{MessageRef, PcpMessage};

const REPLACED_BYTES: &str = "tutti_replaced_bytes";

/// Decodes the text of one frame. The result borrows from it.
pub fn decode(text: &str) -> Result<MessageRef<'_>, PcpDecodeError> {
    let (mut id, mut message_type, mut target) = (None, None, None);
    let (mut sender, mut in_reply_to, mut data) = (None, None, None);
    let mut has_replaced_bytes = None;
    json::parse_object(text, |key, raw| match key {
        "id" => json::set_once(&mut id, "id", json::parse_message_id("id", raw)?),
        "message_type" => json::set_once(
            &mut message_type,
            "message_type",
            json::parse_message_type(raw)?,
        ),
        "target" => json::set_once(&mut target, "target", json::parse_uri("target", raw)?),
        "sender" => json::set_once(&mut sender, "sender", json::parse_uri("sender", raw)?),
        "in_reply_to" => json::set_once(
            &mut in_reply_to,
            "in_reply_to",
            json::parse_message_id("in_reply_to", raw)?,
        ),
        "data" => {
            json::check_depth(raw.get())?;
            json::set_once(&mut data, "data", raw)
        }
        REPLACED_BYTES => {
            let replaced = json::parse_boolean(REPLACED_BYTES, raw)?;
            json::set_once(&mut has_replaced_bytes, REPLACED_BYTES, replaced)
        }
        other => Err(PcpDecodeError::unknown_key(other)),
    })?;
    Ok(MessageRef {
        id: id.ok_or(PcpDecodeError::MissingKey("id"))?,
        message_type: message_type.ok_or(PcpDecodeError::MissingKey("message_type"))?,
        target,
        sender,
        in_reply_to,
        data,
        has_replaced_bytes: has_replaced_bytes.unwrap_or(false),
    })
}

/// The text of the frame that carries `message`.
pub fn encode(message: &PcpMessage) -> String {
    encode_ref(&message.as_message_ref())
}

/// Encodes a message for a peer that supports the mark of replaced bytes; [`encode`] omits the
/// mark.
pub fn encode_with_mark(message: &PcpMessage) -> String {
    encode_ref(&MessageRef {
        has_replaced_bytes: message.has_replaced_bytes,
        ..message.as_message_ref()
    })
}

/// The text of the frame that carries `message`, for forwarding without a copy of the data.
pub fn encode_ref(message: &MessageRef<'_>) -> String {
    serde_json::to_string(message).expect("strings and raw JSON always serialise")
}
