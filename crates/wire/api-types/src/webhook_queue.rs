//! Status replies in webhook-go's format: [`WebhookQueueItem`], [`WebhookGoHealth`].

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

use crate::PreciseTimestamp;

/// Text for a time that has not come yet, as webhook-go writes it.
const NEVER: &str = "0001-01-01T00:00:00Z";

/// A deployment, in the format of a job in webhook-go's queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
pub struct WebhookQueueItem {
    /// Number of the deployment, as text.
    pub id: String,
    /// Name of the environment that is deployed.
    pub name: String,
    /// Type of deployment: `environment`, or `module` if only modules are resolved.
    pub command_type: String,
    /// Time of the request.
    pub added_at: WebhookQueueTime,
    /// Start time of the deployment.
    pub started_at: WebhookQueueTime,
    /// End time of the deployment.
    pub finished_at: WebhookQueueTime,
    /// Command line that does the same by hand.
    pub command: Vec<String>,
    /// Version that is live, or the error; null until the deployment has ended.
    pub response: Option<String>,
    /// State: `added` until the deployment has ended, then `success` or `failed`.
    pub state: String,
}

/// A time; one that has not come yet is written as a date in the year 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ToSchema)]
#[schema(value_type = String, format = DateTime, example = "2026-11-21T08:30:00.641Z")]
pub struct WebhookQueueTime(pub Option<PreciseTimestamp>);

/// Reply to `GET /health`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookGoHealth {
    /// Always `running`, as in webhook-go.
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
