//! Reports of Puppet runs that agents sent to this server: [`RunReportRow`].
//!
//! Invariants: one run of a node has one row, however often its report arrives; a node keeps a
//! bounded number of rows; rows are ordered by the server's clock, never by the node's.

use crate::defaults::PRUNE_ROWS;
use crate::inventory::{self, InventoryReportWrite};
use crate::puppet_run_events::{self, NewPuppetRunEvent};
use crate::puppetdb_commands::{self, PuppetDbCommandRow};
use crate::report_processing;
use crate::rows::row;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;
use crate::{ListPage, StoreError};

row! {
    /// A report without its metrics, logs and resources.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct RunReportRow {
        /// Id of the report.
        pub report_id: String,
        /// Certname of the node.
        pub certname: String,
        /// Puppet's id of the run.
        pub transaction_uuid: String,
        /// Time at which the server received the report, in milliseconds since 1970.
        pub received_ms: i64,
        /// `changed`, `unchanged` or `failed`.
        pub status: String,
        /// The job that started the run; `None` if no job did or none is known yet.
        pub job_id: Option<String>,
        /// The summary, as a JSON object.
        pub summary: String,
    } read write columns summary_columns select run_reports from "run_reports"
}

row! {
    /// A report with its metrics, logs and resources.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct RunReportDetailRow {
        /// The report without its metrics, logs and resources.
        pub report: RunReportRow = summary_columns!(),
        /// Metrics, logs and resources, compressed.
        pub detail: Vec<u8>,
    } read write columns detail_columns select detailed_reports from "run_reports"
}

/// Selection of reports; fields that are `None` select all.
#[derive(Clone, Debug, Default)]
pub struct RunReportFilter {
    /// Certname of the node.
    pub certname: Option<String>,
    /// `changed`, `unchanged` or `failed`.
    pub status: Option<String>,
    /// The job that started the runs.
    pub job_id: Option<String>,
}

/// A report with all that is written in its transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunReportWrite {
    /// The report, with its metrics, logs and resources.
    pub row: RunReportDetailRow,
    /// Number of reports of the node that are kept.
    pub keep: u64,
    /// The command that gives the report to PuppetDB; `None` if it gets none.
    pub command: Option<PuppetDbCommandRow>,
    /// The event for webhooks; `None` for none.
    pub event: Option<NewPuppetRunEvent>,
    /// Paths of the programs that process the report.
    pub programs: Vec<String>,
}

const PUT: &str = concat!(
    "INSERT INTO run_reports (",
    detail_columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (report_id) DO UPDATE SET \
     received_ms = excluded.received_ms, status = excluded.status, \
     job_id = COALESCE(excluded.job_id, run_reports.job_id), summary = excluded.summary, \
     detail = excluded.detail"
);
const TRIM: &str = "DELETE FROM run_reports WHERE certname = $1 AND received_ms < \
     (SELECT kept.received_ms FROM run_reports AS kept WHERE kept.certname = $1 \
     ORDER BY kept.received_ms DESC LIMIT 1 OFFSET $2)";
const LINK_JOB: &str = "UPDATE run_reports SET job_id = $3 WHERE certname = $1 \
     AND transaction_uuid = $2 AND job_id IS NULL";
const DELETE_OF_NODE: &str = "DELETE FROM run_reports WHERE certname = $1";
const PRUNE: &str = "DELETE FROM run_reports WHERE report_id IN (SELECT report_id FROM run_reports \
     WHERE received_ms < $1 ORDER BY received_ms LIMIT $2)";

// One text for each index: with one text for all, both engines would read every row.
const OF_JOB: &str = run_reports!(
    "WHERE job_id = $1 AND (CAST($2 AS TEXT) IS NULL OR certname = $2) \
     AND (CAST($3 AS TEXT) IS NULL OR status = $3) \
     ORDER BY received_ms DESC, report_id LIMIT $4 OFFSET $5"
);
const OF_NODE: &str = run_reports!(
    "WHERE certname = $1 AND (CAST($2 AS TEXT) IS NULL OR status = $2) \
     ORDER BY received_ms DESC, report_id LIMIT $3 OFFSET $4"
);
const OF_STATUS: &str =
    run_reports!("WHERE status = $1 ORDER BY received_ms DESC, report_id LIMIT $2 OFFSET $3");
const ALL: &str = run_reports!("ORDER BY received_ms DESC, report_id LIMIT $1 OFFSET $2");

// The ids are hexadecimal digits, all of which come before `g`.
const DETAIL: &str =
    detailed_reports!("WHERE report_id >= $1 AND report_id < $1 || 'g' ORDER BY report_id LIMIT 2");

pub(crate) const STATEMENTS: &[&str] = &[
    PUT,
    TRIM,
    LINK_JOB,
    DELETE_OF_NODE,
    PRUNE,
    OF_JOB,
    OF_NODE,
    OF_STATUS,
    ALL,
    DETAIL,
];

/// Deletes the reports of a node.
pub(crate) fn delete_statement(certname: &str) -> SqlStatement<'_> {
    SqlStatement::new(DELETE_OF_NODE, values![certname])
}

/// Records the job of a run whose report names none.
pub(crate) fn link_job_statement<'a>(
    certname: &'a str,
    transaction_uuid: &'a str,
    job_id: &'a str,
) -> SqlStatement<'a> {
    SqlStatement::new(LINK_JOB, values![certname, transaction_uuid, job_id])
}

// === impl Store ===

impl Store {
    /// Writes a report, deletes the oldest reports of the node beyond the number that is kept, and
    /// queues the report for PuppetDB, webhooks and programs, in one transaction, which also writes what
    /// the inventory keeps of the report.
    pub async fn put_run_report(
        &self,
        write: &RunReportWrite,
        in_inventory: Option<&InventoryReportWrite>,
    ) -> Result<(), StoreError> {
        let report = &write.row.report;
        let (id, received_ms) = (report.report_id.as_str(), report.received_ms);
        // The report that is written counts as well.
        let last = write.keep.saturating_sub(1);
        let mut steps = Vec::new();
        if let Some(event) = &write.event {
            let certname = report.certname.as_str();
            steps.extend(puppet_run_events::insert_statements(
                id,
                certname,
                received_ms,
                event,
            ));
        }
        for program in &write.programs {
            steps.extend(report_processing::insert_statements(
                id,
                program,
                received_ms,
            ));
        }
        steps.extend([
            SqlStatement::new(PUT, values![write.row]),
            SqlStatement::new(TRIM, values![report.certname, last]),
        ]);
        let command = write.command.as_ref();
        steps.extend(command.map(puppetdb_commands::insert_statement));
        steps.extend(
            in_inventory
                .into_iter()
                .flat_map(inventory::put_report_statements),
        );
        self.execute_all(steps).await.map(drop)
    }

    /// Reports without their details, newest first.
    pub async fn run_reports(
        &self,
        filter: &RunReportFilter,
        page: ListPage,
    ) -> Result<Vec<RunReportRow>, StoreError> {
        let RunReportFilter {
            certname,
            status,
            job_id,
        } = filter;
        match (job_id, certname, status) {
            (Some(job_id), ..) => {
                self.query(OF_JOB, values![job_id, certname, status, page])
                    .await
            }
            (None, Some(certname), _) => self.query(OF_NODE, values![certname, status, page]).await,
            (None, None, Some(status)) => self.query(OF_STATUS, values![status, page]).await,
            (None, None, None) => self.query(ALL, values![page]).await,
        }
    }

    /// The reports whose id begins with `prefix`, two at most.
    pub async fn run_report_details(
        &self,
        prefix: &str,
    ) -> Result<Vec<RunReportDetailRow>, StoreError> {
        self.query(DETAIL, values![prefix]).await
    }

    /// Deletes reports that were received before this time, in small transactions. Returns their
    /// number.
    pub async fn prune_run_reports(&self, before_ms: i64) -> Result<u64, StoreError> {
        let mut deleted = 0;
        loop {
            match self.execute(PRUNE, values![before_ms, PRUNE_ROWS]).await? {
                0 => return Ok(deleted),
                rows => deleted += rows,
            }
        }
    }
}
