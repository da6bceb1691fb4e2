//! Webhooks: receivers of events, and the progress of their deliveries.

use partial_debug::partial_debug;

use crate::StoreError;
use crate::rows::row;
use crate::store::Store;
use crate::value::values;

row! {
    /// A stored webhook and its progress.
    #[derive(Clone, PartialEq, Eq)]
    pub struct WebhookRow {
        /// UUID of the webhook.
        pub id: String,
        /// URL of the receiver.
        pub url: String,
        /// Key that signs the messages, sealed.
        pub sealed: Vec<u8>,
        /// Event types as a JSON array; empty: all types.
        pub events: String,
        /// Description shown to users.
        pub description: String,
        /// True if events are sent.
        pub is_enabled: bool = "enabled",
        /// Login of the user who created the webhook.
        pub created_by: String,
        /// Time of creation in milliseconds since 1970.
        pub created_ms: i64,
        /// Id of the first event of a job that is neither delivered nor given up.
        pub next_event: i64,
        /// Id of the first event of a plan job that is neither delivered nor given up.
        pub next_plan_event: i64,
        /// Id of the first event of a Puppet run that is neither delivered nor given up.
        pub next_puppet_run_event: i64,
        /// Number of events that the receiver accepted.
        pub delivered: i64,
        /// Number of events that were given up.
        pub given_up: i64,
        /// Start of the current series of failed attempts in milliseconds since 1970; `None`: the
        /// last attempt succeeded.
        pub failing_ms: Option<i64>,
        /// Error of the last attempt; `None`: it succeeded.
        pub last_error: Option<String>,
        /// Name of the template of the messages.
        pub template: String,
    } read select webhooks from "webhooks"
}

row! {
    /// A change of a webhook; `None` keeps the stored value.
    #[derive(Clone, Default, PartialEq, Eq)]
    pub struct WebhookChange {
        /// New URL of the receiver.
        pub url: Option<String>,
        /// New key that signs the messages, sealed.
        pub sealed: Option<Vec<u8>>,
        /// New event types as a JSON array; empty: all types.
        pub events: Option<String>,
        /// New description shown to users.
        pub description: Option<String>,
        /// True to send events, `false` to stop.
        pub is_enabled: Option<bool>,
        /// Id of the event of a job with which deliveries continue.
        pub next_event: Option<i64>,
        /// Id of the event of a plan job with which deliveries continue.
        pub next_plan_event: Option<i64>,
        /// Id of the event of a Puppet run with which deliveries continue.
        pub next_puppet_run_event: Option<i64>,
        /// New name of the template of the messages.
        pub template: Option<String>,
    } write
}

row! {
    /// Progress of a webhook's deliveries.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct WebhookProgress {
        /// Id of the first event of a job that is neither delivered nor given up; never decreases.
        pub next_event: i64,
        /// Id of the first event of a plan job that is neither delivered nor given up; never
        /// decreases.
        pub next_plan_event: i64,
        /// Id of the first event of a Puppet run that is neither delivered nor given up; never
        /// decreases.
        pub next_puppet_run_event: i64,
        /// Number of events accepted by the receiver since the last progress.
        pub delivered: i64,
        /// Number of events given up since the last progress.
        pub given_up: i64,
        /// Start of the current series of failed attempts in milliseconds since 1970.
        pub failing_ms: Option<i64>,
        /// Error of the last attempt; `None`: it succeeded.
        pub last_error: Option<String>,
    } write
}

const INSERT: &str = "INSERT INTO webhooks (id, url, sealed, events, description, enabled, \
     created_by, created_ms, next_event, template, next_plan_event, next_puppet_run_event, \
     delivered, given_up) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 0, 0)";
const ALL: &str = webhooks!("ORDER BY created_ms, id");
const BY_ID: &str = webhooks!("WHERE id = $1");
const UPDATE: &str = "UPDATE webhooks SET url = COALESCE($2, url), sealed = COALESCE($3, sealed), \
     events = COALESCE($4, events), description = COALESCE($5, description), \
     enabled = COALESCE(CAST($6 AS BIGINT), enabled), \
     next_event = COALESCE(CAST($7 AS BIGINT), next_event), \
     next_plan_event = COALESCE(CAST($8 AS BIGINT), next_plan_event), \
     next_puppet_run_event = COALESCE(CAST($9 AS BIGINT), next_puppet_run_event), \
     template = COALESCE($10, template) WHERE id = $1";
const ADVANCE: &str = "UPDATE webhooks SET next_event = $2, next_plan_event = $3, \
     next_puppet_run_event = $4, delivered = delivered + $5, given_up = given_up + $6, \
     failing_ms = $7, last_error = $8 \
     WHERE id = $1 AND next_event <= $2 AND next_plan_event <= $3 AND next_puppet_run_event <= $4";
const DELETE: &str = "DELETE FROM webhooks WHERE id = $1";

pub(crate) const STATEMENTS: &[&str] = &[INSERT, ALL, BY_ID, UPDATE, ADVANCE, DELETE];

// === impl Store ===

impl Store {
    /// Writes a new webhook, with all counts 0.
    pub async fn insert_webhook(&self, row: &WebhookRow) -> Result<(), StoreError> {
        self.execute(
            INSERT,
            values![
                row.id,
                row.url,
                row.sealed,
                row.events,
                row.description,
                row.is_enabled,
                row.created_by,
                row.created_ms,
                row.next_event,
                row.template,
                row.next_plan_event,
                row.next_puppet_run_event
            ],
        )
        .await
        .map(drop)
    }

    /// All webhooks, oldest first.
    pub async fn webhooks(&self) -> Result<Vec<WebhookRow>, StoreError> {
        self.query(ALL, Vec::new()).await
    }

    /// The webhook with this id.
    pub async fn webhook(&self, id: &str) -> Result<Option<WebhookRow>, StoreError> {
        self.query_one(BY_ID, values![id]).await
    }

    /// Changes a webhook. `false`: it does not exist.
    pub async fn update_webhook(
        &self,
        id: &str,
        change: WebhookChange,
    ) -> Result<bool, StoreError> {
        Ok(self.execute(UPDATE, values![id, change]).await? > 0)
    }

    /// Records progress. `false`: the webhook does not exist, or its progress is further already.
    pub async fn advance_webhook(
        &self,
        id: &str,
        progress: WebhookProgress,
    ) -> Result<bool, StoreError> {
        Ok(self.execute(ADVANCE, values![id, progress]).await? > 0)
    }

    /// Deletes a webhook. `false`: it did not exist.
    pub async fn delete_webhook(&self, id: &str) -> Result<bool, StoreError> {
        Ok(self.execute(DELETE, values![id]).await? > 0)
    }
}

// Omits the sealed key.
partial_debug!(WebhookRow { id, url });

partial_debug!(WebhookChange { url, is_enabled });
