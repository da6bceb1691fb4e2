//! The JSON of a v1 envelope chunk. Mind the hyphens: v1 says `in-reply-to`.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserializer as _, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::defaults::{MAX_V1_ENVELOPE_BYTES, MAX_V1_TARGETS};
use crate::{DecodeError, MessageId, UriRef, json};

/// What a v1 message says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EnvelopeRef<'a> {
    /// Chosen by the sender.
    pub id: MessageId,
    /// Any text.
    pub message_type: Cow<'a, str>,
    /// Required on the wire, and ignored by every broker in the field.
    #[serde(serialize_with = "iso_8601")]
    pub expires: Timestamp,
    /// Empty in a broker's `error_message`.
    pub targets: Vec<UriRef<'a>>,
    /// Required in v1.
    pub sender: UriRef<'a>,
    /// Accepted for old clients; nobody ever sent a report.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub destination_report: bool,
    /// Only `inventory_response` carries it.
    #[serde(rename = "in-reply-to", skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<MessageId>,
}

impl<'a> EnvelopeRef<'a> {
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        if bytes.len() > MAX_V1_ENVELOPE_BYTES {
            return Err(DecodeError::EnvelopeLength(bytes.len()));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| DecodeError::NotUtf8("envelope"))?;
        let (mut id, mut message_type, mut expires, mut targets) = (None, None, None, None);
        let (mut sender, mut destination_report, mut in_reply_to) = (None, None, None);
        json::object(text, |key, raw| match key {
            "id" => json::once(&mut id, "id", json::id("id", raw)?),
            "message_type" => {
                json::once(&mut message_type, "message_type", json::message_type(raw)?)
            }
            "expires" => json::once(&mut expires, "expires", timestamp(raw)?),
            "targets" => json::once(&mut targets, "targets", uris(raw)?),
            "sender" => json::once(&mut sender, "sender", json::uri("sender", raw)?),
            "destination_report" => {
                let report = json::boolean("destination_report", raw)?;
                json::once(&mut destination_report, "destination_report", report)
            }
            "in-reply-to" => json::once(
                &mut in_reply_to,
                "in-reply-to",
                json::id("in-reply-to", raw)?,
            ),
            other => Err(DecodeError::unknown_key(other)),
        })?;
        Ok(Self {
            id: id.ok_or(DecodeError::MissingKey("id"))?,
            message_type: message_type.ok_or(DecodeError::MissingKey("message_type"))?,
            expires: expires.ok_or(DecodeError::MissingKey("expires"))?,
            targets: targets.ok_or(DecodeError::MissingKey("targets"))?,
            sender: sender.ok_or(DecodeError::MissingKey("sender"))?,
            destination_report: destination_report.unwrap_or(false),
            in_reply_to,
        })
    }
}

fn timestamp(raw: &RawValue) -> Result<Timestamp, DecodeError> {
    json::string("expires", raw)?
        .parse()
        .map_err(|_| DecodeError::Expires)
}

fn uris(raw: &RawValue) -> Result<Vec<UriRef<'_>>, DecodeError> {
    let mut cause = None;
    serde_json::Deserializer::from_str(raw.get())
        .deserialize_seq(Targets { cause: &mut cause })
        .map_err(|_| {
            cause.take().unwrap_or(DecodeError::WrongType {
                key: "targets",
                expected: "an array",
            })
        })
}

/// Reads targets one by one and stops at the limit, so that a longer list never takes form.
struct Targets<'c> {
    /// Carries the precise cause past serde's error type.
    cause: &'c mut Option<DecodeError>,
}

impl<'de> Visitor<'de> for Targets<'_> {
    type Value = Vec<UriRef<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut targets = Vec::new();
        while let Some(item) = items.next_element::<&'de RawValue>()? {
            let target = if targets.len() < MAX_V1_TARGETS {
                json::uri("targets", item)
            } else {
                Err(DecodeError::TooManyTargets)
            };
            match target {
                Ok(target) => targets.push(target),
                Err(error) => {
                    *self.cause = Some(error);
                    return Err(A::Error::custom("refused"));
                }
            }
        }
        Ok(targets)
    }
}

/// Milliseconds as the brokers in the field print them, microseconds where there are any.
fn iso_8601<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    if time.subsec_nanosecond() % 1_000_000 == 0 {
        serializer.collect_str(&format_args!("{time:.3}"))
    } else {
        serializer.collect_str(&format_args!("{time:.6}"))
    }
}
