//! What a receiver is sent: [`Message`].
//!
//! The rule: an event has the same id and the same body however often it is told, so a receiver
//! that remembers ids takes it once.

use serde::Serialize;
use serde_json::value::RawValue;
use store::EventRow;

/// One event, ready to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// The value of `webhook-id`.
    pub(crate) id: String,
    pub(crate) body: Vec<u8>,
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    timestamp: String,
    data: Data<'a>,
}

#[derive(Serialize)]
struct Data<'a> {
    event: String,
    job: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<&'a str>,
    message: &'a str,
    details: &'a RawValue,
}

// === impl Message ===

impl Message {
    /// `None` for an event whose details are no JSON, which nobody writes.
    pub(crate) fn of(event: &EventRow) -> Option<Self> {
        let details: &RawValue = serde_json::from_str(&event.details).ok()?;
        let body = Body {
            kind: &event.kind,
            timestamp: jiff::Timestamp::from_millisecond(event.at_ms)
                .ok()?
                .to_string(),
            data: Data {
                event: event.id.to_string(),
                job: event.job.to_string(),
                node: event.certname.as_deref(),
                message: &event.message,
                details,
            },
        };
        Some(Self {
            id: format!("event_{}", event.id),
            body: serde_json::to_vec(&body).ok()?,
        })
    }

    /// Says that nothing happened, for a test of the receiver.
    pub(crate) fn test(now: jiff::Timestamp) -> Self {
        let body = serde_json::json!({"type": "test", "timestamp": now.to_string(), "data": {}});
        Self {
            id: format!("test_{}", uuid::Uuid::new_v4()),
            body: body.to_string().into_bytes(),
        }
    }
}
