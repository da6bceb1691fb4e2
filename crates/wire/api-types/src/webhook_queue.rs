//! webhook-go's answers about itself, in its own form: [`WebhookQueueItem`], [`WebhookGoHealth`].

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

use crate::PreciseTimestamp;

/// Text of a moment that has not come, as webhook-go writes it.
const NEVER: &str = "0001-01-01T00:00:00Z";

/// A deployment, as webhook-go shows a job of its queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
pub struct WebhookQueueItem {
    /// Number of the deployment.
    pub id: String,
    /// Environment that is deployed.
    pub name: String,
    /// `environment`, or `module` where only modules are looked up.
    pub command_type: String,
    /// Moment at which it was asked for.
    pub added_at: WebhookQueueTime,
    /// Moment at which work began.
    pub started_at: WebhookQueueTime,
    /// Moment at which it was over.
    pub finished_at: WebhookQueueTime,
    /// Command that does the same by hand.
    pub command: Vec<String>,
    /// Version that is live, or the error; null until it is over.
    pub response: Option<String>,
    /// `added` until it is over, then `success` or `failed`.
    pub state: String,
}

/// A moment; one that has not come is in the year 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ToSchema)]
#[schema(value_type = String, format = DateTime, example = "2026-11-21T08:30:00.641Z")]
pub struct WebhookQueueTime(pub Option<PreciseTimestamp>);

/// The answer of `GET /health`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookGoHealth {
    /// Always `running`.
    #[schema(example = "running")]
    pub message: String,
}

impl Serialize for WebhookQueueTime {
    fn serialize<S: Serializer>(&self, writer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(time) => time.serialize(writer),
            None => writer.serialize_str(NEVER),
        }
    }
}

impl<'de> Deserialize<'de> for WebhookQueueTime {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let time = PreciseTimestamp::deserialize(reader)?;
        Ok(Self(Some(time).filter(|time| {
            time.to_string() != "0001-01-01T00:00:00.000Z"
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_that_has_not_come_is_in_the_year_1() {
        for time in [None, Some(PreciseTimestamp::from_ms(1_800_000_000_641))] {
            let text = serde_json::to_string(&WebhookQueueTime(time)).unwrap();
            assert_eq!(text.contains("0001-01-01"), time.is_none());
            let read: WebhookQueueTime = serde_json::from_str(&text).unwrap();
            assert_eq!(read.0, time);
        }
    }
}
