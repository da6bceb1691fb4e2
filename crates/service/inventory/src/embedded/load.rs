//! Loads the inventory from the store at the start: [`load`].
//!
//! Invariant: a row that cannot be read is skipped with a warning; the other nodes are still
//! loaded.

use std::sync::Arc;

use jiff::Timestamp;
use pcp::Certname;
use serde::de::DeserializeOwned;
use store::{InventoryFacts, InventoryReportRow, Store, StoreError};

use super::node_table::{InventoryNode, NodeTable};
use crate::defaults::{LOAD_NODES, REPORTS_PER_NODE};
use crate::{NodeRecord, PuppetReport};

pub(super) async fn load(store: &Store, fleet: &NodeTable) -> Result<(), StoreError> {
    let mut after = String::new();
    loop {
        let rows = store.inventory_nodes(&after, LOAD_NODES).await?;
        let Some(last) = rows.last().map(|row| row.certname.clone()) else {
            return Ok(());
        };
        let reports = store.inventory_reports(&after, &last).await?;
        for row in rows {
            let Some(certname) = parse_certname(&row.certname) else {
                continue;
            };
            let record = row.facts.and_then(|facts| parse_record(&certname, facts));
            let record = record.map(|record| Arc::new(fleet.to_compact(&record)));
            fleet.update_node(&certname, usize::MAX, |node| node.record = record);
        }
        // The rows are ordered newest first, and `add_report` inserts at the front.
        for row in reports.iter().rev() {
            if let (Some(certname), Some(report)) =
                (parse_certname(&row.certname), parse_report(row))
            {
                fleet.update_node(&certname, usize::MAX, |node| node.add_report(report));
            }
        }
        after = last;
    }
}

/// Converts a row into the recorded report.
pub(super) fn parse_report(row: &InventoryReportRow) -> Option<PuppetReport> {
    parse_json(&row.certname, "report", &row.report)
}

fn parse_record(certname: &Certname, row: InventoryFacts) -> Option<NodeRecord> {
    Some(NodeRecord {
        facts: Arc::new(parse_json(certname.as_str(), "facts", &row.facts)?),
        trusted: Arc::new(parse_json(certname.as_str(), "trusted data", &row.trusted)?),
        environment: row.environment,
        timestamp: Timestamp::from_millisecond(row.at_ms).unwrap_or_default(),
    })
}

fn parse_certname(certname: &str) -> Option<Certname> {
    certname
        .parse()
        .inspect_err(|error| tracing::warn!(certname, %error, "a node in the store has no name"))
        .ok()
}

fn parse_json<T: DeserializeOwned>(certname: &str, what: &str, text: &str) -> Option<T> {
    decode_errors::json::from_str(text)
        .inspect_err(|error| tracing::warn!(certname, %error, "the store's {what} cannot be read"))
        .ok()
}

// === impl InventoryNode ===

impl InventoryNode {
    /// Inserts a report as the newest one, and drops the oldest if there are too many. Metrics
    /// stay in the store: they are most of a report, and no query reads them.
    pub(super) fn add_report(&mut self, mut report: PuppetReport) {
        report.metrics = Vec::new();
        self.reports
            .retain(|known| known.transaction_uuid != report.transaction_uuid);
        let newer = |known: &Arc<PuppetReport>| known.receive_time > report.receive_time;
        let at = self.reports.iter().take_while(|known| newer(known)).count();
        self.reports.insert(at, Arc::new(report));
        self.reports.truncate(REPORTS_PER_NODE);
    }
}
