//! Translation between v1 frames and messages, which a broker does for peers of different versions.
//!
//! Translation to v2 loses `expires` and `destination_report`. Translation to v1 loses
//! `in_reply_to`, unless v1 has a key for it (`inventory_response`, and the `id` in an
//! `error_message`). Data of `false` or `null` survives both directions. A pxp-agent copies the
//! output of actions into the data unchanged: bytes that are not UTF-8 become U+FFFD and the
//! message is marked.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::value::{RawValue, to_raw_value};

use super::{EnvelopeRef, FrameRef};
use crate::types::{ERROR_MESSAGE, INVENTORY_RESPONSE};
use crate::{MessageId, PcpDecodeError, PcpMessage, PcpUri, TranslateError, UriRef, json};

/// Converts a v1 frame to a message. Its target is `None` if the frame lists none.
pub fn to_message(frame: &FrameRef<'_>) -> Result<PcpMessage, TranslateError> {
    let envelope = &frame.envelope;
    let target = match envelope.targets.as_slice() {
        [] => None,
        [one] if !one.is_wildcard() => Some(one.to_uri()),
        _ => return Err(TranslateError::MultipleRecipients),
    };
    let text = frame.data.as_deref().map(String::from_utf8_lossy);
    let mut message = PcpMessage {
        id: envelope.id,
        message_type: envelope.message_type.clone().into_owned(),
        target,
        sender: Some(envelope.sender.to_uri()),
        in_reply_to: envelope.in_reply_to,
        data: text.as_deref().map(raw_json).transpose()?.flatten(),
        has_replaced_bytes: matches!(text, Some(Cow::Owned(_))),
    };
    if message.message_type == ERROR_MESSAGE {
        let raw = message
            .data
            .as_deref()
            .ok_or(PcpDecodeError::MissingKey("description"))?;
        let (description, id) = error_body(raw)?;
        message.data = Some(description);
        message.in_reply_to = id.or(message.in_reply_to);
    }
    Ok(message)
}

/// Converts `message` to v1. An absent sender becomes `pcp:///server`, since only a broker sends
/// messages without one; an absent target becomes an empty list.
pub fn from_message(message: &PcpMessage, expires: Timestamp) -> FrameRef<'_> {
    let is_error = message.message_type == ERROR_MESSAGE;
    let keeps_reply = message.message_type == INVENTORY_RESPONSE;
    let data = match &message.data {
        data if is_error => Some(Cow::Owned(error_data(data.as_deref(), message.in_reply_to))),
        Some(raw) => Some(Cow::Borrowed(raw.get().as_bytes())),
        None => None,
    };
    let envelope = EnvelopeRef {
        id: message.id,
        message_type: Cow::Borrowed(&message.message_type),
        expires,
        targets: message
            .target
            .as_ref()
            .map(PcpUri::as_uri_ref)
            .into_iter()
            .collect(),
        sender: message
            .sender
            .as_ref()
            .map_or(UriRef::BROKER, PcpUri::as_uri_ref),
        destination_report: false,
        in_reply_to: message.in_reply_to.filter(|_| keeps_reply),
    };
    FrameRef { envelope, data }
}

/// Parses a data chunk as JSON; an empty chunk is no data.
fn raw_json(text: &str) -> Result<Option<Box<RawValue>>, PcpDecodeError> {
    if text.is_empty() {
        return Ok(None);
    }
    let raw: Box<RawValue> =
        serde_json::from_str(text).map_err(|error| PcpDecodeError::NotJson {
            line: error.line(),
            column: error.column(),
        })?;
    json::check_depth(raw.get())?;
    Ok(Some(raw))
}

/// Converts `{description, id}` to the bare string and the id of the message that it answers.
fn error_body(raw: &RawValue) -> Result<(Box<RawValue>, Option<MessageId>), PcpDecodeError> {
    let (mut description, mut id) = (None, None);
    json::parse_object(raw.get(), |key, value| match key {
        "description" => {
            json::parse_string("description", value)?;
            json::set_once(&mut description, "description", value.to_owned())
        }
        "id" => json::set_once(&mut id, "id", json::parse_message_id("id", value)?),
        other => Err(PcpDecodeError::unknown_key(other)),
    })?;
    Ok((
        description.ok_or(PcpDecodeError::MissingKey("description"))?,
        id,
    ))
}

/// Converts a bare string to `{description, id}`. Data that is not a string becomes one: v1 clients
/// check the schema.
fn error_data(data: Option<&RawValue>, in_reply_to: Option<MessageId>) -> Vec<u8> {
    #[derive(serde::Serialize)]
    struct ErrorMessageData<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<MessageId>,
        description: &'a RawValue,
    }
    let text = data.map_or("", RawValue::get);
    let quoted;
    let description = match data {
        Some(raw) if text.starts_with('"') => raw,
        _ => {
            quoted = to_raw_value(text).expect("a string is JSON");
            &*quoted
        }
    };
    serde_json::to_vec(&ErrorMessageData {
        id: in_reply_to,
        description,
    })
    .expect("an id and a string always serialise")
}
