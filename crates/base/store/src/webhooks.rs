//! Webhooks: receivers of events, and the progress of their deliveries.

use crate::StoreError;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::{ColumnError, FromRow, RowColumns, SqlValue};

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
    pub is_enabled: bool,
    /// Login of the user who created the webhook.
    pub created_by: String,
    /// Time of creation in milliseconds since 1970.
    pub created_ms: i64,
    /// Id of the first event of a job that is neither delivered nor given up.
    pub next_event: i64,
    /// Id of the first event of a plan job that is neither delivered nor given up.
    pub next_plan_event: i64,
    /// Number of events that the receiver accepted.
    pub delivered: i64,
    /// Number of events that were given up.
    pub given_up: i64,
    /// Start of the current series of failed attempts in milliseconds since 1970; `None`: the last
    /// attempt succeeded.
    pub failing_ms: Option<i64>,
    /// Error of the last attempt; `None`: it succeeded.
    pub last_error: Option<String>,
    /// Name of the template of the messages.
    pub template: String,
}

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
    /// New name of the template of the messages.
    pub template: Option<String>,
}

/// Progress of a webhook's deliveries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebhookProgress {
    /// Id of the first event of a job that is neither delivered nor given up; never decreases.
    pub next_event: i64,
    /// Id of the first event of a plan job that is neither delivered nor given up; never decreases.
    pub next_plan_event: i64,
    /// Number of events accepted by the receiver since the last progress.
    pub delivered: i64,
    /// Number of events given up since the last progress.
    pub given_up: i64,
    /// Start of the current series of failed attempts in milliseconds since 1970.
    pub failing_ms: Option<i64>,
    /// Error of the last attempt; `None`: it succeeded.
    pub last_error: Option<String>,
}

macro_rules! columns {
    () => {
        "id, url, sealed, events, description, enabled, created_by, created_ms, next_event, \
         delivered, given_up, failing_ms, last_error, template, next_plan_event"
    };
}

const INSERT: &str = "INSERT INTO webhooks (id, url, sealed, events, description, enabled, \
     created_by, created_ms, next_event, template, next_plan_event, delivered, given_up) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, 0)";
const ALL: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM webhooks ORDER BY created_ms, id"
);
const BY_ID: &str = concat!("SELECT ", columns!(), " FROM webhooks WHERE id = $1");
const UPDATE: &str = "UPDATE webhooks SET url = COALESCE($2, url), sealed = COALESCE($3, sealed), \
     events = COALESCE($4, events), description = COALESCE($5, description), \
     enabled = COALESCE(CAST($6 AS BIGINT), enabled), \
     next_event = COALESCE(CAST($7 AS BIGINT), next_event), template = COALESCE($8, template), \
     next_plan_event = COALESCE(CAST($9 AS BIGINT), next_plan_event) WHERE id = $1";
const ADVANCE: &str = "UPDATE webhooks SET next_event = $2, delivered = delivered + $3, \
     given_up = given_up + $4, failing_ms = $5, last_error = $6, next_plan_event = $7 \
     WHERE id = $1 AND next_event <= $2 AND next_plan_event <= $7";
const DELETE: &str = "DELETE FROM webhooks WHERE id = $1";

pub(crate) const STATEMENTS: &[&str] = &[INSERT, ALL, BY_ID, UPDATE, ADVANCE, DELETE];

// === impl Store ===

impl Store {
    /// Writes a new webhook, with all counts 0.
    pub async fn insert_webhook(&self, row: &WebhookRow) -> Result<(), StoreError> {
        let values = vec![
            SqlValue::owned_text(&row.id),
            SqlValue::owned_text(&row.url),
            SqlValue::Blob(row.sealed.clone().into()),
            SqlValue::owned_text(&row.events),
            SqlValue::owned_text(&row.description),
            SqlValue::Int(i64::from(row.is_enabled)),
            SqlValue::owned_text(&row.created_by),
            SqlValue::Int(row.created_ms),
            SqlValue::Int(row.next_event),
            SqlValue::owned_text(&row.template),
            SqlValue::Int(row.next_plan_event),
        ];
        self.execute(SqlStatement {
            sql: INSERT,
            values,
        })
        .await
        .map(|_| ())
    }

    /// All webhooks, oldest first.
    pub async fn webhooks(&self) -> Result<Vec<WebhookRow>, StoreError> {
        self.query(ALL, Vec::new()).await
    }

    /// The webhook with this id.
    pub async fn webhook(&self, id: &str) -> Result<Option<WebhookRow>, StoreError> {
        self.query_one(BY_ID, vec![SqlValue::owned_text(id)]).await
    }

    /// Changes a webhook. `false`: it does not exist.
    pub async fn update_webhook(
        &self,
        id: &str,
        change: WebhookChange,
    ) -> Result<bool, StoreError> {
        let values = vec![
            SqlValue::owned_text(id),
            SqlValue::opt_owned_text(change.url.as_deref()),
            change
                .sealed
                .map_or(SqlValue::Null, |sealed| SqlValue::Blob(sealed.into())),
            SqlValue::opt_owned_text(change.events.as_deref()),
            SqlValue::opt_owned_text(change.description.as_deref()),
            SqlValue::opt_int(change.is_enabled.map(i64::from)),
            SqlValue::opt_int(change.next_event),
            SqlValue::opt_owned_text(change.template.as_deref()),
            SqlValue::opt_int(change.next_plan_event),
        ];
        let step = SqlStatement {
            sql: UPDATE,
            values,
        };
        Ok(self.execute(step).await? > 0)
    }

    /// Records progress. `false`: the webhook does not exist, or its progress is further already.
    pub async fn advance_webhook(
        &self,
        id: &str,
        progress: WebhookProgress,
    ) -> Result<bool, StoreError> {
        let values = vec![
            SqlValue::owned_text(id),
            SqlValue::Int(progress.next_event),
            SqlValue::Int(progress.delivered),
            SqlValue::Int(progress.given_up),
            SqlValue::opt_int(progress.failing_ms),
            SqlValue::opt_owned_text(progress.last_error.as_deref()),
            SqlValue::Int(progress.next_plan_event),
        ];
        let step = SqlStatement {
            sql: ADVANCE,
            values,
        };
        Ok(self.execute(step).await? > 0)
    }

    /// Deletes a webhook. `false`: it did not exist.
    pub async fn delete_webhook(&self, id: &str) -> Result<bool, StoreError> {
        let values = vec![SqlValue::owned_text(id)];
        let step = SqlStatement {
            sql: DELETE,
            values,
        };
        Ok(self.execute(step).await? > 0)
    }
}

// === impl rows ===

impl FromRow for WebhookRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self {
            id: row.text(0)?,
            url: row.text(1)?,
            sealed: row.blob(2)?,
            events: row.text(3)?,
            description: row.text(4)?,
            is_enabled: row.int(5)? != 0,
            created_by: row.text(6)?,
            created_ms: row.int(7)?,
            next_event: row.int(8)?,
            delivered: row.int(9)?,
            given_up: row.int(10)?,
            failing_ms: row.opt_int(11)?,
            last_error: row.opt_text(12)?,
            template: row.text(13)?,
            next_plan_event: row.int(14)?,
        })
    }
}

/// Omits the sealed key.
impl std::fmt::Debug for WebhookRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookRow")
            .field("id", &self.id)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for WebhookChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookChange")
            .field("url", &self.url)
            .field("is_enabled", &self.is_enabled)
            .finish_non_exhaustive()
    }
}
