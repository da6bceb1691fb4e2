//! The message to a receiver: [`DeliveryMessage`].
//!
//! Invariant: an event has the same id and the same body at every delivery, so a receiver that
//! remembers ids can ignore duplicates.

use crate::event::{WebhookEvent, WebhookEventSource};
use crate::notice::ChatNotice;
use crate::subject::EventSubject;
use crate::template::MessageTemplate;
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

/// One event in the form in which it is sent.
#[derive(Clone, Debug)]
pub(crate) struct DeliveryMessage {
    /// Value of the header `webhook-id`.
    pub(crate) id: String,
    pub(crate) body: Vec<u8>,
}

#[derive(Serialize)]
struct WebhookBody<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    timestamp: String,
    data: WebhookData<'a>,
}

#[derive(Serialize)]
struct WebhookData<'a> {
    event: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    #[serde(flatten)]
    subject: &'a EventSubject,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<&'a str>,
    message: &'a str,
    details: &'a RawValue,
}

// === impl DeliveryMessage ===

impl DeliveryMessage {
    /// The message for an event; `None` if its details are not JSON, which should not occur.
    pub(crate) fn for_event(
        event: &WebhookEvent,
        subject: &EventSubject,
        template: MessageTemplate,
    ) -> Option<Self> {
        let body = match template.render(&ChatNotice::for_event(event, subject)) {
            Some(chat) => chat.to_string().into_bytes(),
            None => event_json(event, subject)?,
        };
        Some(Self {
            id: event.id.to_string(),
            body,
        })
    }

    /// A message without an event, for a test of the receiver.
    pub(crate) fn test(now: jiff::Timestamp, template: MessageTemplate) -> Self {
        let body = template
            .render(&ChatNotice::test())
            .unwrap_or_else(|| json!({"type": "test", "timestamp": now.to_string(), "data": {}}));
        Self {
            id: format!("test_{}", uuid::Uuid::new_v4()),
            body: body.to_string().into_bytes(),
        }
    }
}

/// The complete event as JSON, for programs.
fn event_json(event: &WebhookEvent, subject: &EventSubject) -> Option<Vec<u8>> {
    let details: &RawValue = serde_json::from_str(&event.details).ok()?;
    let timestamp = jiff::Timestamp::from_millisecond(event.at_ms).ok()?;
    let body = WebhookBody {
        kind: &event.kind,
        timestamp: timestamp.to_string(),
        data: WebhookData {
            event: event.id.number().to_string(),
            job: match event.source {
                WebhookEventSource::Job(job) => Some(job.to_string()),
                WebhookEventSource::PlanJob(_) | WebhookEventSource::PuppetRun => None,
            },
            subject,
            node: event.certname.as_deref(),
            message: &event.message,
            details,
        },
    };
    serde_json::to_vec(&body).ok()
}
