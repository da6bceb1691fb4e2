//! A PCP message, independent of its form on the wire.
//!
//! [`PcpMessage`] owns its parts, [`MessageRef`] borrows them from the text it was decoded from, so
//! a broker can route and forward without copying the data. Invariant: `data` is JSON that has been
//! checked for syntax and depth, not for meaning.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::types::ERROR_MESSAGE;
use crate::{MessageId, PcpUri, UriRef};

/// A message that owns its parts.
#[derive(Clone, Debug)]
pub struct PcpMessage {
    /// Message id, chosen by the sender.
    pub id: MessageId,
    /// Message type, any text; see [`crate::types`] and the `pxp` crate for the known ones.
    pub message_type: String,
    /// Address of the recipient. `None` means `pcp:///server` to a broker.
    pub target: Option<PcpUri>,
    /// Address of the sender. `None` means the connection's own address to a broker; forwarded
    /// messages always have it.
    pub sender: Option<PcpUri>,
    /// Id of the message that this one answers. Few types have it.
    pub in_reply_to: Option<MessageId>,
    /// Data of the message, any JSON; `null` and absent are different.
    pub data: Option<Box<RawValue>>,
    /// True if some bytes of the data were not UTF-8 and were replaced by U+FFFD. Only a v1 frame
    /// can contain such bytes.
    pub has_replaced_bytes: bool,
}

/// A message that borrows from the text it was decoded from.
#[derive(Clone, Debug, Serialize)]
pub struct MessageRef<'a> {
    /// Message id, chosen by the sender.
    pub id: MessageId,
    /// Message type, owned only if JSON escapes forced a copy.
    pub message_type: Cow<'a, str>,
    /// Address of the recipient. `None` means `pcp:///server` to a broker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<UriRef<'a>>,
    /// Address of the sender. `None` means the connection's own address to a broker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<UriRef<'a>>,
    /// Id of the message that this one answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<MessageId>,
    /// Data of the message: the JSON as it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<&'a RawValue>,
    /// Wire form of [`PcpMessage::has_replaced_bytes`]: an extension, sent only to peers that
    /// support it.
    #[serde(
        rename = "tutti_replaced_bytes",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub has_replaced_bytes: bool,
}

// === impl PcpMessage ===

impl PcpMessage {
    /// A message with a new random id and no addresses yet.
    pub fn new(message_type: impl Into<String>, data: Option<Box<RawValue>>) -> Self {
        Self {
            id: MessageId::random(),
            message_type: message_type.into(),
            target: None,
            sender: None,
            in_reply_to: None,
            data,
            has_replaced_bytes: false,
        }
    }

    /// An `error_message` in its v2 form: a bare string that answers `in_reply_to`.
    pub fn error(description: &str, in_reply_to: Option<MessageId>) -> Self {
        let data = serde_json::value::to_raw_value(description).expect("a string is JSON");
        Self {
            in_reply_to,
            ..Self::new(ERROR_MESSAGE, Some(data))
        }
    }

    /// Sets the target of the message.
    #[must_use]
    pub fn to(mut self, target: PcpUri) -> Self {
        self.target = Some(target);
        self
    }

    /// Sets the sender of the message.
    #[must_use]
    pub fn from(mut self, sender: PcpUri) -> Self {
        self.sender = Some(sender);
        self
    }

    /// The borrowed form, without the extensions that only some peers support.
    pub fn as_message_ref(&self) -> MessageRef<'_> {
        MessageRef {
            id: self.id,
            message_type: Cow::Borrowed(&self.message_type),
            target: self.target.as_ref().map(PcpUri::as_uri_ref),
            sender: self.sender.as_ref().map(PcpUri::as_uri_ref),
            in_reply_to: self.in_reply_to,
            data: self.data.as_deref(),
            has_replaced_bytes: false,
        }
    }
}

fn data(message: &PcpMessage) -> Option<&str> {
    message.data.as_deref().map(RawValue::get)
}

/// Data is compared by its JSON text.
impl PartialEq for PcpMessage {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
            && self.message_type == other.message_type
            && self.target == other.target
            && self.sender == other.sender
            && self.in_reply_to == other.in_reply_to
            && data(self) == data(other)
    }
}

// === impl MessageRef ===

impl MessageRef<'_> {
    /// The same message, owned.
    pub fn to_message(&self) -> PcpMessage {
        PcpMessage {
            id: self.id,
            message_type: self.message_type.clone().into_owned(),
            target: self.target.as_ref().map(UriRef::to_uri),
            sender: self.sender.as_ref().map(UriRef::to_uri),
            in_reply_to: self.in_reply_to,
            data: self.data.map(ToOwned::to_owned),
            has_replaced_bytes: self.has_replaced_bytes,
        }
    }
}
