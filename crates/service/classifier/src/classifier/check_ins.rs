//! Check-ins: the recent classifications of nodes, for `GET nodes`.

use std::sync::atomic::Ordering;

use pcp::Certname;
use serde_json::{Value, json};
use store::{CheckInRow, StoreError, now_ms};
use uuid::Uuid;

use super::Classifier;
use crate::NodeFacts;
use crate::defaults::{CHECK_INS, CHECK_INS_BETWEEN_PRUNES, CHECK_INS_PER_NODE};

/// One recorded classification of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedCheckIn {
    /// Certname of the node.
    pub certname: String,
    /// Time of the check-in, in milliseconds since 1970.
    pub at_ms: i64,
    /// Puppet's id of the catalog and the report; `None` if it was not sent.
    pub transaction_uuid: Option<String>,
    /// The explained rule of each group of the node.
    pub explanation: Value,
}

impl Classifier {
    /// Records the current classification of a node, and deletes the oldest records.
    ///
    /// # Errors
    /// The store could not be written.
    pub async fn check_in(
        &self,
        node: &NodeFacts,
        transaction_uuid: Option<String>,
    ) -> Result<(), StoreError> {
        let explanation = json!(self.tree().explain_matches(node)).to_string();
        let row = CheckInRow {
            id: Uuid::now_v7().to_string(),
            certname: node.certname.to_string(),
            at_ms: now_ms(),
            transaction_uuid,
            explanation,
        };
        let store = &self.inner.store;
        store.insert_check_in(row, CHECK_INS_PER_NODE).await?;
        let count = self.inner.check_ins.fetch_add(1, Ordering::Relaxed);
        if count.is_multiple_of(CHECK_INS_BETWEEN_PRUNES) {
            store.prune_check_ins(CHECK_INS).await?;
        }
        Ok(())
    }

    /// The check-ins of a node, newest first.
    ///
    /// # Errors
    /// The store could not be read.
    pub async fn node_check_ins(
        &self,
        certname: &Certname,
    ) -> Result<Vec<RecordedCheckIn>, StoreError> {
        let rows = self.inner.store.check_ins_of(certname.as_str()).await?;
        Ok(rows.into_iter().map(RecordedCheckIn::from).collect())
    }

    /// The check-ins of a page of nodes, by certname, newest first.
    ///
    /// # Errors
    /// The store could not be read.
    pub async fn check_ins(
        &self,
        nodes: u32,
        skipped: u32,
    ) -> Result<Vec<RecordedCheckIn>, StoreError> {
        let rows = self.inner.store.check_ins(nodes, skipped).await?;
        Ok(rows.into_iter().map(RecordedCheckIn::from).collect())
    }
}

impl From<CheckInRow> for RecordedCheckIn {
    fn from(row: CheckInRow) -> Self {
        Self {
            certname: row.certname,
            at_ms: row.at_ms,
            transaction_uuid: row.transaction_uuid,
            // This server wrote the text as JSON; any other text is shown as null.
            explanation: serde_json::from_str(&row.explanation).unwrap_or(Value::Null),
        }
    }
}
