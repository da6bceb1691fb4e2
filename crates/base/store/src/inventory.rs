//! Inventory of the agents: facts, and their last reports.
//!
//! [`InventoryNodeRow`] is a node. Invariants: facts that arrive late never replace newer ones, and
//! a node keeps a bounded number of reports.

use crate::StoreError;
use crate::page::to_sql_count;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::{ColumnError, FromRow, RowColumns, SqlValue};

/// A stored node with its facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InventoryNodeRow {
    /// Certname of the node.
    pub certname: String,
    /// Facts of the node; `None` if it was seen and has not sent any yet.
    pub facts: Option<InventoryFacts>,
}

/// The facts and environment that a node reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InventoryFacts {
    /// The facts, as a JSON object.
    pub facts: String,
    /// Trusted facts from the node's certificate, as a JSON object.
    pub trusted: String,
    /// The environment that the node requests.
    pub environment: Option<String>,
    /// Time at which the facts were collected, in milliseconds since 1970.
    pub at_ms: i64,
}

/// A report of one Puppet run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InventoryReportRow {
    /// Certname of the node.
    pub certname: String,
    /// Puppet's id of the run.
    pub transaction_uuid: String,
    /// Time at which the server received the report, in milliseconds since 1970.
    pub received_ms: i64,
    /// The report, as a JSON object.
    pub report: String,
}

const SEEN: &str = "INSERT INTO inventory_nodes (certname) VALUES ($1) ON CONFLICT DO NOTHING";

const FACTS: &str = "INSERT INTO inventory_nodes (certname, facts, trusted, environment, facts_ms) \
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (certname) DO UPDATE SET facts = excluded.facts, \
     trusted = excluded.trusted, environment = excluded.environment, \
     facts_ms = excluded.facts_ms WHERE inventory_nodes.facts_ms IS NULL \
     OR inventory_nodes.facts_ms <= excluded.facts_ms";

const REPORT: &str = "INSERT INTO inventory_reports \
     (certname, transaction_uuid, received_ms, report) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (certname, transaction_uuid) DO UPDATE SET report = excluded.report, \
     received_ms = excluded.received_ms";

const DROP_OLD_REPORTS: &str = "DELETE FROM inventory_reports WHERE certname = $1 \
     AND transaction_uuid NOT IN (SELECT kept.transaction_uuid FROM inventory_reports AS kept \
     WHERE kept.certname = $1 ORDER BY kept.received_ms DESC, kept.transaction_uuid LIMIT $2)";

const DELETE_NODE: &str = "DELETE FROM inventory_nodes WHERE certname = $1";
const DELETE_REPORTS: &str = "DELETE FROM inventory_reports WHERE certname = $1";

const NODES: &str = "SELECT certname, facts, trusted, environment, facts_ms FROM inventory_nodes \
     WHERE certname > $1 ORDER BY certname LIMIT $2";

const REPORTS: &str = "SELECT certname, transaction_uuid, received_ms, report \
     FROM inventory_reports WHERE certname > $1 AND certname <= $2 \
     ORDER BY certname, received_ms DESC, transaction_uuid";

const ONE_REPORT: &str = "SELECT certname, transaction_uuid, received_ms, report \
     FROM inventory_reports WHERE certname = $1 AND transaction_uuid = $2";

pub(crate) const STATEMENTS: &[&str] = &[
    SEEN,
    FACTS,
    REPORT,
    DROP_OLD_REPORTS,
    DELETE_NODE,
    DELETE_REPORTS,
    NODES,
    REPORTS,
    ONE_REPORT,
];

// === impl Store ===

impl Store {
    /// Records that the nodes exist.
    pub async fn record_inventory_nodes(&self, certnames: &[String]) -> Result<(), StoreError> {
        let step = |certname: &String| SqlStatement {
            sql: SEEN,
            values: vec![SqlValue::owned_text(certname)],
        };
        match certnames {
            [] => Ok(()),
            _ => {
                let steps = certnames.iter().map(step).collect();
                self.execute_all(steps).await.map(drop)
            }
        }
    }

    /// Writes the facts of a node. `false`: the store has newer facts, and nothing was written.
    pub async fn put_inventory_facts(
        &self,
        certname: &str,
        facts: &InventoryFacts,
    ) -> Result<bool, StoreError> {
        let values = vec![
            SqlValue::owned_text(certname),
            SqlValue::owned_text(&facts.facts),
            SqlValue::owned_text(&facts.trusted),
            SqlValue::opt_owned_text(facts.environment.as_deref()),
            SqlValue::Int(facts.at_ms),
        ];
        Ok(self.execute(SqlStatement { sql: FACTS, values }).await? > 0)
    }

    /// Writes a report, and deletes the node's oldest reports beyond `keep`.
    pub async fn put_inventory_report(
        &self,
        report: &InventoryReportRow,
        keep: u64,
    ) -> Result<(), StoreError> {
        let certname = SqlValue::owned_text(&report.certname);
        let insert = SqlStatement {
            sql: REPORT,
            values: vec![
                certname.clone(),
                SqlValue::owned_text(&report.transaction_uuid),
                SqlValue::Int(report.received_ms),
                SqlValue::owned_text(&report.report),
            ],
        };
        let trim = SqlStatement {
            sql: DROP_OLD_REPORTS,
            values: vec![certname, SqlValue::Int(to_sql_count(keep))],
        };
        self.execute_all(vec![insert, trim]).await.map(drop)
    }

    /// Deletes a node. `false`: it does not exist.
    pub async fn delete_inventory_node(&self, certname: &str) -> Result<bool, StoreError> {
        let steps = [DELETE_REPORTS, DELETE_NODE].map(|sql| SqlStatement {
            sql,
            values: vec![SqlValue::owned_text(certname)],
        });
        let rows = self.execute_all(steps.to_vec()).await?;
        Ok(rows.last().is_some_and(|deleted| *deleted > 0))
    }

    /// At most `limit` nodes after `after` (`""`: from the first one), by certname.
    pub async fn inventory_nodes(
        &self,
        after: &str,
        limit: u64,
    ) -> Result<Vec<InventoryNodeRow>, StoreError> {
        let values = vec![
            SqlValue::owned_text(after),
            SqlValue::Int(to_sql_count(limit)),
        ];
        self.query(NODES, values).await
    }

    /// The reports of the nodes after `after`, up to and including `last`: by certname, newest
    /// first.
    pub async fn inventory_reports(
        &self,
        after: &str,
        last: &str,
    ) -> Result<Vec<InventoryReportRow>, StoreError> {
        self.query(
            REPORTS,
            vec![SqlValue::owned_text(after), SqlValue::owned_text(last)],
        )
        .await
    }

    /// The report of one run.
    pub async fn inventory_report(
        &self,
        certname: &str,
        transaction_uuid: &str,
    ) -> Result<Option<InventoryReportRow>, StoreError> {
        let values = vec![
            SqlValue::owned_text(certname),
            SqlValue::owned_text(transaction_uuid),
        ];
        self.query_one(ONE_REPORT, values).await
    }
}

// === impl rows ===

impl FromRow for InventoryNodeRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        let facts = match row.opt_text(1)? {
            None => None,
            Some(facts) => Some(InventoryFacts {
                facts,
                trusted: row.text(2)?,
                environment: row.opt_text(3)?,
                at_ms: row.int(4)?,
            }),
        };
        Ok(Self {
            certname: row.text(0)?,
            facts,
        })
    }
}

impl FromRow for InventoryReportRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self {
            certname: row.text(0)?,
            transaction_uuid: row.text(1)?,
            received_ms: row.int(2)?,
            report: row.text(3)?,
        })
    }
}
