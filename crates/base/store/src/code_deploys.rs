//! Code deployments: the requests and their outcomes.
//!
//! Invariant: a [`CodeDeployRow`] that is over never changes.

use crate::StoreError;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::{ColumnError, FromRow, RowColumns, SqlValue};

/// A requested deployment that is not written yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCodeDeploy {
    /// UUID of this row.
    pub request_id: String,
    /// Name of the environment.
    pub environment: String,
    /// `deploy`, `remove`, `rollback`, `promote`, …
    pub action: String,
    /// Options of the request, as JSON.
    pub options: String,
    /// Login of the user who requested the deployment.
    pub owner: String,
    /// Reason given by the user, as free text.
    pub reason: String,
    /// First state: `new` or `queued`.
    pub state: String,
    /// Time of the request in milliseconds since 1970.
    pub queued_ms: i64,
}

/// A stored deployment and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeDeployRow {
    /// Number of the deployment.
    pub id: i64,
    /// Name of the environment.
    pub environment: String,
    /// Action, as in [`NewCodeDeploy::action`].
    pub action: String,
    /// Options of the request, as JSON.
    pub options: String,
    /// Login of the user who requested the deployment.
    pub owner: String,
    /// Reason given by the user, as free text.
    pub reason: String,
    /// `new`, `queued`, `deploying`, `syncing`, `synced` or `failed`.
    pub state: String,
    /// Time of the request in milliseconds since 1970.
    pub queued_ms: i64,
    /// Start in milliseconds since 1970; `None` before.
    pub started_ms: Option<i64>,
    /// End in milliseconds since 1970; `None` before.
    pub finished_ms: Option<i64>,
    /// The deployment that did the work, if one deployment served several requests.
    pub served_by: Option<i64>,
    /// Signature of the code version that was made live.
    pub signature: Option<String>,
    /// Signature of the code version that was live before.
    pub before: Option<String>,
    /// The changes or the error, as JSON.
    pub outcome: Option<String>,
}

/// The end of a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeDeployEnd {
    /// Last state: `synced` or `failed`.
    pub state: String,
    /// Time of the end in milliseconds since 1970.
    pub finished_ms: i64,
    /// The deployment that did the work.
    pub served_by: i64,
    /// Signature of the code version that was made live.
    pub signature: Option<String>,
    /// Signature of the code version that was live before.
    pub before: Option<String>,
    /// The changes or the error, as JSON.
    pub outcome: String,
}

macro_rules! columns {
    () => {
        "id, environment, action, options, owner, reason, state, queued_ms, started_ms, \
         finished_ms, served_by, signature, before, outcome"
    };
}

const INSERT: &str = "INSERT INTO code_deploys (id, request_id, environment, action, options, \
     owner, reason, state, queued_ms) VALUES \
     ((SELECT COALESCE(MAX(id), 0) + 1 FROM code_deploys), $1, $2, $3, $4, $5, $6, $7, $8)";
const BY_REQUEST: &str = "SELECT id FROM code_deploys WHERE request_id = $1";
const ENTER: &str = "UPDATE code_deploys SET state = $2, \
     started_ms = COALESCE(started_ms, CAST($3 AS BIGINT)) WHERE id = $1 AND finished_ms IS NULL";
const END: &str = "UPDATE code_deploys SET state = $2, finished_ms = $3, served_by = $4, \
     signature = $5, before = $6, outcome = $7 WHERE id = $1 AND finished_ms IS NULL";
const ONE: &str = concat!("SELECT ", columns!(), " FROM code_deploys WHERE id = $1");
const OPEN: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM code_deploys WHERE finished_ms IS NULL ORDER BY id"
);
const LIST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM code_deploys WHERE (CAST($1 AS TEXT) IS NULL OR environment = $1) AND id < $2 \
     ORDER BY id DESC LIMIT $3"
);
const FAILED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM code_deploys d WHERE state = 'failed' AND id = (SELECT MAX(id) FROM code_deploys \
     WHERE environment = d.environment AND finished_ms IS NOT NULL) ORDER BY id"
);
const LIVE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM code_deploys WHERE id IN (SELECT MAX(id) FROM code_deploys WHERE state = 'synced' \
     AND signature IS NOT NULL GROUP BY environment) ORDER BY environment"
);
const NEWEST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM code_deploys WHERE id IN (SELECT MAX(id) FROM code_deploys WHERE finished_ms IS NOT NULL \
     GROUP BY environment) AND NOT (action = 'remove' AND state = 'synced') ORDER BY environment"
);
// The newest deployments of an environment stay, since they record who deployed the live version.
// The newest of all stays, so that no number is used twice.
const PRUNE: &str = "DELETE FROM code_deploys WHERE finished_ms < $1 AND id NOT IN \
     (SELECT MAX(id) FROM code_deploys WHERE state = 'synced' GROUP BY environment) \
     AND id < (SELECT MAX(id) FROM code_deploys)";

pub(crate) const STATEMENTS: &[&str] = &[
    INSERT, BY_REQUEST, ENTER, END, ONE, OPEN, LIST, FAILED, LIVE, NEWEST, PRUNE,
];

// === impl Store ===

impl Store {
    /// Writes deployments, all or none. Returns their numbers.
    pub async fn insert_code_deploys(&self, new: &[NewCodeDeploy]) -> Result<Vec<i64>, StoreError> {
        let insert = |new: &NewCodeDeploy| SqlStatement {
            sql: INSERT,
            values: vec![
                SqlValue::owned_text(&new.request_id),
                SqlValue::owned_text(&new.environment),
                SqlValue::owned_text(&new.action),
                SqlValue::owned_text(&new.options),
                SqlValue::owned_text(&new.owner),
                SqlValue::owned_text(&new.reason),
                SqlValue::owned_text(&new.state),
                SqlValue::Int(new.queued_ms),
            ],
        };
        self.execute_all(new.iter().map(insert).collect()).await?;
        let mut ids = Vec::with_capacity(new.len());
        for row in new {
            let values = vec![SqlValue::owned_text(&row.request_id)];
            let id: Option<i64> = self.query_one(BY_REQUEST, values).await?;
            ids.push(id.ok_or(StoreError::Closed)?);
        }
        Ok(ids)
    }

    /// Sets a state other than the last one; the first time is recorded as the start.
    pub async fn enter_code_deploys(
        &self,
        ids: &[i64],
        state: &str,
        started_ms: Option<i64>,
    ) -> Result<(), StoreError> {
        let step = |id: &i64| SqlStatement {
            sql: ENTER,
            values: vec![
                SqlValue::Int(*id),
                SqlValue::owned_text(state),
                SqlValue::opt_int(started_ms),
            ],
        };
        self.execute_all(ids.iter().map(step).collect()).await?;
        Ok(())
    }

    /// Ends deployments in one transaction; a deployment that is over already stays as it is.
    pub async fn end_code_deploys(
        &self,
        ids: &[i64],
        end: &CodeDeployEnd,
    ) -> Result<(), StoreError> {
        let step = |id: &i64| SqlStatement {
            sql: END,
            values: vec![
                SqlValue::Int(*id),
                SqlValue::owned_text(&end.state),
                SqlValue::Int(end.finished_ms),
                SqlValue::Int(end.served_by),
                SqlValue::opt_owned_text(end.signature.as_deref()),
                SqlValue::opt_owned_text(end.before.as_deref()),
                SqlValue::owned_text(&end.outcome),
            ],
        };
        self.execute_all(ids.iter().map(step).collect()).await?;
        Ok(())
    }

    /// The deployment with this number.
    pub async fn code_deploy(&self, id: i64) -> Result<Option<CodeDeployRow>, StoreError> {
        self.query_one(ONE, vec![SqlValue::Int(id)]).await
    }

    /// Deployments that are not over, oldest first.
    pub async fn open_code_deploys(&self) -> Result<Vec<CodeDeployRow>, StoreError> {
        self.query(OPEN, Vec::new()).await
    }

    /// Deployments with lower numbers than this one, newest first.
    pub async fn code_deploys(
        &self,
        environment: Option<&str>,
        before: Option<i64>,
        limit: i64,
    ) -> Result<Vec<CodeDeployRow>, StoreError> {
        let values = vec![
            SqlValue::opt_owned_text(environment),
            SqlValue::Int(before.unwrap_or(i64::MAX)),
            SqlValue::Int(limit),
        ];
        self.query(LIST, values).await
    }

    /// The last deployment of each environment whose last deployment failed.
    pub async fn failed_code_deploys(&self) -> Result<Vec<CodeDeployRow>, StoreError> {
        self.query(FAILED, Vec::new()).await
    }

    /// The last deployment of each environment that made a version live.
    pub async fn live_code_deploys(&self) -> Result<Vec<CodeDeployRow>, StoreError> {
        self.query(LIVE, Vec::new()).await
    }

    /// The newest finished deployment of each environment, without those that removed the
    /// environment.
    pub async fn newest_code_deploys(&self) -> Result<Vec<CodeDeployRow>, StoreError> {
        self.query(NEWEST, Vec::new()).await
    }

    /// Deletes deployments that ended before this time, except those that record who deployed the
    /// live version. Returns the number deleted.
    pub async fn prune_code_deploys(&self, before_ms: i64) -> Result<u64, StoreError> {
        let (sql, values) = (PRUNE, vec![SqlValue::Int(before_ms)]);
        self.execute(SqlStatement { sql, values }).await
    }
}

// === impl CodeDeployRow ===

impl FromRow for CodeDeployRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self {
            id: row.int(0)?,
            environment: row.text(1)?,
            action: row.text(2)?,
            options: row.text(3)?,
            owner: row.text(4)?,
            reason: row.text(5)?,
            state: row.text(6)?,
            queued_ms: row.int(7)?,
            started_ms: row.opt_int(8)?,
            finished_ms: row.opt_int(9)?,
            served_by: row.opt_int(10)?,
            signature: row.opt_text(11)?,
            before: row.opt_text(12)?,
            outcome: row.opt_text(13)?,
        })
    }
}
