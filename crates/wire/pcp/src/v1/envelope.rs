//! The JSON of a v1 envelope chunk. Its keys have hyphens where v2 has underscores: `in-reply-to`.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserializer as _, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::defaults::{MAX_V1_ENVELOPE_BYTES, MAX_V1_TARGETS};
use crate::{MessageId, PcpDecodeError, UriRef, json};

/// The header of a v1 message: id, type, addresses and expiry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EnvelopeRef<'a> {
    /// Message id, chosen by the sender.
    pub id: MessageId,
    /// Message type, any text.
    pub message_type: Cow<'a, str>,
    /// Time at which the message expires. Required on the wire, but ignored by every broker in the
    /// field.
    #[serde(serialize_with = "iso_8601")]
    pub expires: Timestamp,
    /// Addresses of the recipients; empty in a broker's `error_message`.
    pub targets: Vec<UriRef<'a>>,
    /// Address of the sender, required in v1.
    pub sender: UriRef<'a>,
    /// True to request a destination report. Accepted for old clients; no implementation ever sent
    /// a report.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub destination_report: bool,
    /// Id of the message that this one answers. Only `inventory_response` has it.
    #[serde(rename = "in-reply-to", skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<MessageId>,
}

impl<'a> EnvelopeRef<'a> {
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, PcpDecodeError> {
        if bytes.len() > MAX_V1_ENVELOPE_BYTES {
            return Err(PcpDecodeError::EnvelopeLength(bytes.len()));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| PcpDecodeError::NotUtf8("envelope"))?;
        let (mut id, mut message_type, mut expires, mut targets) = (None, None, None, None);
        let (mut sender, mut destination_report, mut in_reply_to) = (None, None, None);
        json::parse_object(text, |key, raw| match key {
            "id" => json::set_once(&mut id, "id", json::parse_message_id("id", raw)?),
            "message_type" => json::set_once(
                &mut message_type,
                "message_type",
                json::parse_message_type(raw)?,
            ),
            "expires" => json::set_once(&mut expires, "expires", timestamp(raw)?),
            "targets" => json::set_once(&mut targets, "targets", uris(raw)?),
            "sender" => json::set_once(&mut sender, "sender", json::parse_uri("sender", raw)?),
            "destination_report" => {
                let report = json::parse_boolean("destination_report", raw)?;
                json::set_once(&mut destination_report, "destination_report", report)
            }
            "in-reply-to" => json::set_once(
                &mut in_reply_to,
                "in-reply-to",
                json::parse_message_id("in-reply-to", raw)?,
            ),
            other => Err(PcpDecodeError::unknown_key(other)),
        })?;
        Ok(Self {
            id: id.ok_or(PcpDecodeError::MissingKey("id"))?,
            message_type: message_type.ok_or(PcpDecodeError::MissingKey("message_type"))?,
            expires: expires.ok_or(PcpDecodeError::MissingKey("expires"))?,
            targets: targets.ok_or(PcpDecodeError::MissingKey("targets"))?,
            sender: sender.ok_or(PcpDecodeError::MissingKey("sender"))?,
            destination_report: destination_report.unwrap_or(false),
            in_reply_to,
        })
    }
}

fn timestamp(raw: &RawValue) -> Result<Timestamp, PcpDecodeError> {
    json::parse_string("expires", raw)?
        .parse()
        .map_err(|_| PcpDecodeError::Expires)
}

fn uris(raw: &RawValue) -> Result<Vec<UriRef<'_>>, PcpDecodeError> {
    let mut cause = None;
    serde_json::Deserializer::from_str(raw.get())
        .deserialize_seq(TargetListVisitor { cause: &mut cause })
        .map_err(|_| {
            cause.take().unwrap_or(PcpDecodeError::WrongType {
                key: "targets",
                expected: "an array",
            })
        })
}

/// Parses targets one by one and stops at the limit, so that a longer list is never built.
struct TargetListVisitor<'c> {
    /// Returns the precise cause, which serde's error type cannot hold.
    cause: &'c mut Option<PcpDecodeError>,
}

impl<'de> Visitor<'de> for TargetListVisitor<'_> {
    type Value = Vec<UriRef<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut targets = Vec::new();
        while let Some(item) = items.next_element::<&'de RawValue>()? {
            let target = if targets.len() < MAX_V1_TARGETS {
                json::parse_uri("targets", item)
            } else {
                Err(PcpDecodeError::TooManyTargets)
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

/// Formats milliseconds as the brokers in the field do, and microseconds if there are any.
fn iso_8601<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    if time.subsec_nanosecond() % 1_000_000 == 0 {
        serializer.collect_str(&format_args!("{time:.3}"))
    } else {
        serializer.collect_str(&format_args!("{time:.6}"))
    }
}
