//! PCP 2: one JSON object in one WebSocket text frame.
//!
//! Keys: `id` and `message_type` (required), `target`, `sender`, `in_reply_to`, `data`; any other
//! is refused. Tutti's brokers and orchestrators also exchange `tutti_replaced_bytes`
//! ([`Message::has_replaced_bytes`]).

use crate::error::DecodeError;
use crate::json;
use crate::{Message, MessageRef};

const REPLACED_BYTES: &str = "tutti_replaced_bytes";

/// Decodes the text of one frame. The result borrows from it.
pub fn decode(text: &str) -> Result<MessageRef<'_>, DecodeError> {
    let (mut id, mut message_type, mut target) = (None, None, None);
    let (mut sender, mut in_reply_to, mut data) = (None, None, None);
    let mut has_replaced_bytes = None;
    json::object(text, |key, raw| match key {
        "id" => json::once(&mut id, "id", json::id("id", raw)?),
        "message_type" => json::once(&mut message_type, "message_type", json::message_type(raw)?),
        "target" => json::once(&mut target, "target", json::uri("target", raw)?),
        "sender" => json::once(&mut sender, "sender", json::uri("sender", raw)?),
        "in_reply_to" => json::once(
            &mut in_reply_to,
            "in_reply_to",
            json::id("in_reply_to", raw)?,
        ),
        "data" => {
            json::check_depth(raw.get())?;
            json::once(&mut data, "data", raw)
        }
        REPLACED_BYTES => {
            let replaced = json::boolean(REPLACED_BYTES, raw)?;
            json::once(&mut has_replaced_bytes, REPLACED_BYTES, replaced)
        }
        other => Err(DecodeError::unknown_key(other)),
    })?;
    Ok(MessageRef {
        id: id.ok_or(DecodeError::MissingKey("id"))?,
        message_type: message_type.ok_or(DecodeError::MissingKey("message_type"))?,
        target,
        sender,
        in_reply_to,
        data,
        has_replaced_bytes: has_replaced_bytes.unwrap_or(false),
    })
}

/// The text of the frame that carries `message`.
pub fn encode(message: &Message) -> String {
    encode_ref(&message.as_message_ref())
}

/// Encodes a message for a peer that supports the mark of replaced bytes; [`encode`] omits the
/// mark.
pub fn encode_with_mark(message: &Message) -> String {
    encode_ref(&MessageRef {
        has_replaced_bytes: message.has_replaced_bytes,
        ..message.as_message_ref()
    })
}

/// The text of the frame that carries `message`, for forwarding without a copy of the data.
pub fn encode_ref(message: &MessageRef<'_>) -> String {
    serde_json::to_string(message).expect("strings and raw JSON always serialise")
}
