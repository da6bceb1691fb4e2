//! Check-ins: recent classifications of nodes. Invariant: only the newest are kept, for each node
//! and in total.

use crate::StoreError;
use crate::rows::row;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;

row! {
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
    } read write columns columns select check_ins from "node_check_ins"
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
const OF_NODE: &str = check_ins!("WHERE certname = $1 ORDER BY id DESC");
const OF_NODES: &str = check_ins!(
    "WHERE certname IN (SELECT DISTINCT certname FROM node_check_ins \
      ORDER BY certname LIMIT $1 OFFSET $2) ORDER BY certname, id DESC"
);

pub(crate) const STATEMENTS: &[&str] = &[INSERT, PRUNE_NODE, PRUNE, OF_NODE, OF_NODES];

// === impl Store ===

impl Store {
    /// Writes a check-in and deletes all but the newest `kept` of its node.
    pub async fn insert_check_in(&self, row: CheckInRow, kept: u32) -> Result<(), StoreError> {
        let insert = SqlStatement::new(INSERT, values![row]);
        let prune = SqlStatement::new(PRUNE_NODE, values![row.certname, kept]);
        self.execute_all([insert, prune]).await.map(drop)
    }

    /// Deletes all but the newest `kept` check-ins of all nodes. Returns the number deleted.
    pub async fn prune_check_ins(&self, kept: u32) -> Result<u64, StoreError> {
        self.execute(PRUNE, values![kept]).await
    }

    /// Check-ins of a node, newest first.
    pub async fn check_ins_of(&self, certname: &str) -> Result<Vec<CheckInRow>, StoreError> {
        self.query(OF_NODE, values![certname]).await
    }

    /// Check-ins of several nodes, ordered by certname, newest first.
    pub async fn check_ins(
        &self,
        nodes: u32,
        skipped_nodes: u32,
    ) -> Result<Vec<CheckInRow>, StoreError> {
        self.query(OF_NODES, values![nodes, skipped_nodes]).await
    }
}
