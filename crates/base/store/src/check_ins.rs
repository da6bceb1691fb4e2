//! Check-ins: how nodes were classified lately. The rule: of each node, and in all, only the newest
//! are kept.

use crate::StoreError;
use crate::step::Step;
use crate::store::Store;
use crate::value::{ColumnError, Columns, FromRow, Value};

/// One classification of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckInRow {
    /// A UUID that grows with time.
    pub id: String,
    /// The node.
    pub certname: String,
    /// When.
    pub at_ms: i64,
    /// Puppet's id of the catalog and the report, where it was told.
    pub transaction_uuid: Option<String>,
    /// JSON.
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
    /// Writes a check-in and forgets all but the newest `kept` of its node.
    pub async fn insert_check_in(&self, row: CheckInRow, kept: u32) -> Result<(), StoreError> {
        let insert = Step {
            sql: INSERT,
            values: vec![
                Value::owned(&row.id),
                Value::owned(&row.certname),
                Value::Int(row.at_ms),
                Value::opt_owned(row.transaction_uuid.as_deref()),
                Value::owned(&row.explanation),
            ],
        };
        let prune = Step {
            sql: PRUNE_NODE,
            values: vec![Value::owned(&row.certname), Value::Int(i64::from(kept))],
        };
        self.execute_all(vec![insert, prune]).await.map(|_| ())
    }

    /// Forgets all but the newest `kept` of all nodes; says how many.
    pub async fn prune_check_ins(&self, kept: u32) -> Result<u64, StoreError> {
        let values = vec![Value::Int(i64::from(kept))];
        self.execute(Step { sql: PRUNE, values }).await
    }

    /// A node's check-ins, newest first.
    pub async fn check_ins_of(&self, certname: &str) -> Result<Vec<CheckInRow>, StoreError> {
        self.query(OF_NODE, vec![Value::owned(certname)]).await
    }

    /// The check-ins of some nodes, by certname, newest first.
    pub async fn check_ins(
        &self,
        nodes: u32,
        skipped_nodes: u32,
    ) -> Result<Vec<CheckInRow>, StoreError> {
        let page = vec![
            Value::Int(i64::from(nodes)),
            Value::Int(i64::from(skipped_nodes)),
        ];
        self.query(OF_NODES, page).await
    }
}

impl FromRow for CheckInRow {
    fn from_row(row: &dyn Columns) -> Result<Self, ColumnError> {
        Ok(Self {
            id: row.text(0)?,
            certname: row.text(1)?,
            at_ms: row.int(2)?,
            transaction_uuid: row.opt_text(3)?,
            explanation: row.text(4)?,
        })
    }
}
