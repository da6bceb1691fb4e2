//! Reports of Puppet runs, and the data for PuppetDB: [`start`].

use std::sync::Arc;

use ::run_reports::{RunReports, RunReportsConfig};
use anyhow::{Context as _, Result};
use inventory::Inventory;
use store::Store;
use telemetry::metrics::MetricSet;

use crate::config::Config;

/// Starts the engine. Data is forwarded to a PuppetDB if agents can send some to this server.
pub(crate) async fn start(
    config: &Config,
    store: &Store,
    inventory: &Inventory,
) -> Result<RunReports> {
    let puppetdb = config.puppetdb.as_ref();
    let settings = RunReportsConfig {
        keep: config.reports.keep(),
        keep_of_node: config.reports.keep_of_node,
        forward: config.puppet_api.enabled && puppetdb.is_some_and(|it| it.forward),
        processors: config.reports.processors(),
        render: api::run_report_json,
        ..RunReportsConfig::new(config.certname.parse()?)
    };
    RunReports::start(settings, store.clone(), inventory.clone())
        .await
        .context("cannot read the queue of data for PuppetDB")
}

/// The metrics of the forwarding, if data is forwarded, and of report processors, if there are any.
pub(crate) fn metrics(run_reports: &RunReports) -> Vec<Arc<dyn MetricSet>> {
    let mut sets: Vec<Arc<dyn MetricSet>> = Vec::new();
    if let Some(metrics) = run_reports.metrics() {
        sets.push(metrics);
    }
    if let Some(metrics) = run_reports.processing_metrics() {
        sets.push(metrics);
    }
    sets
}
