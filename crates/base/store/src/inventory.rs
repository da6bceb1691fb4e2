//! Inventory of the agents: facts, and their last reports.
//!
//! [`InventoryNodeRow`] is a node. Invariants: facts that arrive late never replace newer ones, and
//! a node keeps a bounded number of reports.

use crate::StoreError;
use crate::agent_catalogs;
use crate::exported_resources;
use crate::produced_capabilities;
use crate::rows::row;
use crate::run_reports;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;

row! {
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
        pub at_ms: i64 = "facts_ms",
    } read write columns fact_columns
}

row! {
    /// A stored node with its facts.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct InventoryNodeRow {
        /// Certname of the node.
        pub certname: String,
        /// Facts of the node; `None` if it was seen and has not sent any yet.
        pub facts: Option<InventoryFacts> = fact_columns!(),
    } read select nodes from "inventory_nodes"
}

row! {
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
    } read write columns report_columns select reports from "inventory_reports"
}

/// A report of one Puppet run with all that is written with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InventoryReportWrite {
    /// The report, which replaces that of the same run.
    pub row: InventoryReportRow,
    /// The job that started the run, which is recorded in the [`RunReportRow`](crate::RunReportRow) of the run too if
    /// that names no job; `None` if no job did.
    pub job_id: Option<String>,
    /// Number of reports of the node that are kept.
    pub keep: u64,
}

const SEEN: &str = "INSERT INTO inventory_nodes (certname) VALUES ($1) ON CONFLICT DO NOTHING";

const FACTS: &str = concat!(
    "INSERT INTO inventory_nodes (certname, ",
    fact_columns!(),
    ") VALUES ($1, $2, $3, $4, $5) ON CONFLICT (certname) DO UPDATE SET facts = excluded.facts, \
     trusted = excluded.trusted, environment = excluded.environment, \
     facts_ms = excluded.facts_ms WHERE inventory_nodes.facts_ms IS NULL \
     OR inventory_nodes.facts_ms <= excluded.facts_ms OR inventory_nodes.facts_ms > $6"
);

const REPORT: &str = concat!(
    "INSERT INTO inventory_reports (",
    report_columns!(),
    ") VALUES ($1, $2, $3, $4) ON CONFLICT (certname, transaction_uuid) DO UPDATE SET \
     report = excluded.report, received_ms = excluded.received_ms"
);

const DROP_OLD_REPORTS: &str = "DELETE FROM inventory_reports WHERE certname = $1 \
     AND transaction_uuid NOT IN (SELECT kept.transaction_uuid FROM inventory_reports AS kept \
     WHERE kept.certname = $1 ORDER BY kept.received_ms DESC, kept.transaction_uuid LIMIT $2)";

const DELETE_NODE: &str = "DELETE FROM inventory_nodes WHERE certname = $1";
const DELETE_REPORTS: &str = "DELETE FROM inventory_reports WHERE certname = $1";

const NODES: &str = nodes!("WHERE certname > $1 ORDER BY certname LIMIT $2");

const REPORTS: &str = reports!(
    "WHERE certname > $1 AND certname <= $2 ORDER BY certname, received_ms DESC, transaction_uuid"
);

const ONE_REPORT: &str = reports!("WHERE certname = $1 AND transaction_uuid = $2");

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

/// The statements that write a report, and delete the node's oldest ones.
pub(crate) fn put_report_statements(
    write: &InventoryReportWrite,
) -> impl Iterator<Item = SqlStatement<'_>> {
    let InventoryReportWrite { row, job_id, keep } = write;
    let (certname, uuid) = (row.certname.as_str(), row.transaction_uuid.as_str());
    let insert = SqlStatement::new(REPORT, values![row]);
    let trim = SqlStatement::new(DROP_OLD_REPORTS, values![certname, *keep]);
    let job_id = job_id.as_deref();
    let link = job_id.map(|job| run_reports::link_job_statement(certname, uuid, job));
    [insert, trim].into_iter().chain(link)
}

// === impl Store ===

impl Store {
    /// Records that the nodes exist.
    pub async fn record_inventory_nodes(&self, certnames: &[String]) -> Result<(), StoreError> {
        match certnames {
            [] => Ok(()),
            _ => self
                .execute_all(
                    certnames
                        .iter()
                        .map(|certname| SqlStatement::new(SEEN, values![certname])),
                )
                .await
                .map(drop),
        }
    }

    /// Writes the facts of a node. `false`: the store has newer facts, and nothing was written. Facts of a time after
    /// `now_ms` count as older: they were written while the clock of the server was ahead.
    pub async fn put_inventory_facts(
        &self,
        certname: &str,
        facts: &InventoryFacts,
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        let written = self.execute(FACTS, values![certname, facts, now_ms]);
        Ok(written.await? > 0)
    }

    /// Writes a report, and deletes the node's oldest reports beyond those that are kept.
    pub async fn put_inventory_report(
        &self,
        write: &InventoryReportWrite,
    ) -> Result<(), StoreError> {
        self.execute_all(put_report_statements(write))
            .await
            .map(drop)
    }

    /// Deletes a node with its reports, catalogs, exported resources and capabilities. `false`: it does not exist.
    pub async fn delete_inventory_node(&self, certname: &str) -> Result<bool, StoreError> {
        let of_node =
            [DELETE_REPORTS, DELETE_NODE].map(|sql| SqlStatement::new(sql, values![certname]));
        let exported = exported_resources::delete_statements(certname);
        let reports = [run_reports::delete_statement(certname)];
        let catalogs = agent_catalogs::delete_statements(certname);
        let capabilities = [produced_capabilities::delete_statement(certname)];
        let others = exported.into_iter().chain(catalogs).chain(reports);
        let others = others.chain(capabilities);
        self.execute_to_last(others.chain(of_node)).await
    }

    /// At most `limit` nodes after `after` (`""`: from the first one), by certname.
    pub async fn inventory_nodes(
        &self,
        after: &str,
        limit: u64,
    ) -> Result<Vec<InventoryNodeRow>, StoreError> {
        self.query(NODES, values![after, limit]).await
    }

    /// The reports of the nodes after `after`, up to and including `last`: by certname, newest
    /// first.
    pub async fn inventory_reports(
        &self,
        after: &str,
        last: &str,
    ) -> Result<Vec<InventoryReportRow>, StoreError> {
        self.query(REPORTS, values![after, last]).await
    }

    /// The report of one run.
    pub async fn inventory_report(
        &self,
        certname: &str,
        transaction_uuid: &str,
    ) -> Result<Option<InventoryReportRow>, StoreError> {
        self.query_one(ONE_REPORT, values![certname, transaction_uuid])
            .await
    }
}
