//! Check-ins: recent classifications of nodes. Invariant: only the newest are kept, for each node
//! and in total.

use crate::StoreError;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::{ColumnError, FromRow, RowColumns, SqlValue};

/// One classification of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckInRow {
    /// UUID whose order is that of time.
    pub id: String,
    /// Certname of the node.
    pub certname: String,
    /// Time of the check-in in milliseconds since 1970.
    pub at_ms: i64,
    /// Puppet's id of the catalog and the report; `None` if it was not reported.
    pub transaction_uuid: Option<String>,
    /// Explanation of the classification, as JSON.
    pub explanation: String,
}

macro_rules! columns {
    () => {
        "id, certname, at_ms, transaction_uuid, explanation"
    };
}

const INSERT: &str = concat!(
    "INSERT INTO node_check_ins (",
    columns!(),
    ") VALUES ($1, $2, $3, $4, $5)"
);
const PRUNE_NODE: &str = "DELETE FROM node_check_ins WHERE certname = $1 AND id NOT IN \
     (SELECT id FROM node_check_ins WHERE certname = $1 ORDER BY id DESC LIMIT $2)";
const PRUNE: &str = "DELETE FROM node_check_ins WHERE id <= \
     (SELECT id FROM node_check_ins ORDER BY id DESC LIMIT 1 OFFSET $1)";
const OF_NODE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM node_check_ins WHERE certname = $1 ORDER BY id DESC"
);
const OF_NODES: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM node_check_ins WHERE certname IN (SELECT DISTINCT certname FROM node_check_ins \
      ORDER BY certname LIMIT $1 OFFSET $2) ORDER BY certname, id DESC"
);

pub(crate) const STATEMENTS: &[&str] = &[INSERT, PRUNE_NODE, PRUNE, OF_NODE, OF_NODES];

// === impl Store ===

impl Store {
    /// Writes a check-in and deletes all but the newest `kept` of its node.
    pub async fn insert_check_in(&self, row: CheckInRow, kept: u32) -> Result<(), StoreError> {
        let insert = SqlStatement {
            sql: INSERT,
            values: vec![
                SqlValue::owned_text(&row.id),
                SqlValue::owned_text(&row.certname),
                SqlValue::Int(row.at_ms),
                SqlValue::opt_owned_text(row.transaction_uuid.as_deref()),
                SqlValue::owned_text(&row.explanation),
            ],
        };
        let prune = SqlStatement {
            sql: PRUNE_NODE,
            values: vec![
                SqlValue::owned_text(&row.certname),
                SqlValue::Int(i64::from(kept)),
            ],
        };
        self.execute_all(vec![insert, prune]).await.map(|_| ())
    }

    /// Deletes all but the newest `kept` check-ins of all nodes. Returns the number deleted.
    pub async fn prune_check_ins(&self, kept: u32) -> Result<u64, StoreError> {
        let values = vec![SqlValue::Int(i64::from(kept))];
        self.execute(SqlStatement { sql: PRUNE, values }).await
    }

    /// Check-ins of a node, newest first.
    pub async fn check_ins_of(&self, certname: &str) -> Result<Vec<CheckInRow>, StoreError> {
        self.query(OF_NODE, vec![SqlValue::owned_text(certname)])
            .await
    }

    /// Check-ins of several nodes, ordered by certname, newest first.
    pub async fn check_ins(
        &self,
        nodes: u32,
        skipped_nodes: u32,
    ) -> Result<Vec<CheckInRow>, StoreError> {
        let page = vec![
            SqlValue::Int(i64::from(nodes)),
            SqlValue::Int(i64::from(skipped_nodes)),
        ];
        self.query(OF_NODES, page).await
    }
}

impl FromRow for CheckInRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self {
            id: row.text(0)?,
            certname: row.text(1)?,
            at_ms: row.int(2)?,
            transaction_uuid: row.opt_text(3)?,
            explanation: row.text(4)?,
        })
    }
}
