//! Code deployments: the requests and their outcomes.
//!
//! Invariant: a [`CodeDeployRow`] that is over never changes.

use crate::StoreError;
use crate::rows::row;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;

row! {
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
    } write columns new_columns
}

row! {
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
    } read select deploys from "code_deploys"
}

row! {
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
    } write
}

const INSERT: &str = concat!(
    "INSERT INTO code_deploys (",
    new_columns!(),
    ", id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, (SELECT COALESCE(MAX(id), 0) + 1 FROM code_deploys))"
);
const BY_REQUEST: &str = "SELECT id FROM code_deploys WHERE request_id = $1";
const ENTER: &str = "UPDATE code_deploys SET state = $2, \
     started_ms = COALESCE(started_ms, CAST($3 AS BIGINT)) WHERE id = $1 AND finished_ms IS NULL";
const END: &str = "UPDATE code_deploys SET state = $2, finished_ms = $3, served_by = $4, \
     signature = $5, before = $6, outcome = $7 WHERE id = $1 AND finished_ms IS NULL";
const ONE: &str = deploys!("WHERE id = $1");
const OPEN: &str = deploys!("WHERE finished_ms IS NULL ORDER BY id");
const LIST: &str = deploys!(
    "WHERE (CAST($1 AS TEXT) IS NULL OR environment = $1) AND id < $2 \
     ORDER BY id DESC LIMIT $3"
);
const FAILED: &str = deploys!(
    "d WHERE state = 'failed' AND id = (SELECT MAX(id) FROM code_deploys \
     WHERE environment = d.environment AND finished_ms IS NOT NULL) ORDER BY id"
);
const LIVE: &str = deploys!(
    "WHERE id IN (SELECT MAX(id) FROM code_deploys WHERE state = 'synced' \
     AND signature IS NOT NULL GROUP BY environment) ORDER BY environment"
);
const NEWEST: &str = deploys!(
    "WHERE id IN (SELECT MAX(id) FROM code_deploys WHERE finished_ms IS NOT NULL \
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
        let steps = new
            .iter()
            .map(|new| SqlStatement::new(INSERT, values![new]));
        self.execute_all(steps).await?;
        let mut ids = Vec::with_capacity(new.len());
        for row in new {
            let id: Option<i64> = self.query_one(BY_REQUEST, values![row.request_id]).await?;
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
        let steps = ids
            .iter()
            .map(|id| SqlStatement::new(ENTER, values![id, state, started_ms]));
        self.execute_all(steps).await.map(drop)
    }

    /// Ends deployments in one transaction; a deployment that is over already stays as it is.
    pub async fn end_code_deploys(
        &self,
        ids: &[i64],
        end: &CodeDeployEnd,
    ) -> Result<(), StoreError> {
        let steps = ids
            .iter()
            .map(|id| SqlStatement::new(END, values![id, end]));
        self.execute_all(steps).await.map(drop)
    }

    /// The deployment with this number.
    pub async fn code_deploy(&self, id: i64) -> Result<Option<CodeDeployRow>, StoreError> {
        self.query_one(ONE, values![id]).await
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
        let before = before.unwrap_or(i64::MAX);
        self.query(LIST, values![environment, before, limit]).await
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
        self.execute(PRUNE, values![before_ms]).await
    }
}
