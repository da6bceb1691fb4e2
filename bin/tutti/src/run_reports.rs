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
        ..RunReportsConfig::new(config.certname.parse()?)
    };
    RunReports::start(settings, store.clone(), inventory.clone())
        .await
        .context("cannot read the queue of data for PuppetDB")
}

/// The metrics of the forwarding, if data is forwarded.
pub(crate) fn metrics(run_reports: &RunReports) -> Option<Arc<dyn MetricSet>> {
    let metrics = run_reports.metrics()?;
    Some(metrics)
}
