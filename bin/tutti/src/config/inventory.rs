//! `[puppetdb]`, `[inventory]` and `[reports]` of `tutti.toml`: [`PuppetDbSection`],
//! [`EmbeddedInventorySection`], which is used if there is no PuppetDB, and [`ReportsSection`].

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use ::inventory::{ConfError, PuppetDbConfig};
use pki::TlsFiles;
use run_reports::defaults::{
    KEEP_REPORTS, PROCESSOR_TIMEOUT, PROCESSOR_TIMEOUT_MAX, REPORT_PROCESSORS, REPORTS_OF_NODE,
};
use run_reports::{ReportProcessor, RunStatus};
use serde::Deserialize;

use super::tls_files::client_files;

const SECONDS_OF_DAY: u64 = 24 * 60 * 60;

/// An existing PuppetDB. Without this section, agents report their facts to this server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PuppetDbSection {
    /// `https://HOST:8081` of each server, tried in this order.
    #[serde(default)]
    pub server_urls: Vec<String>,
    /// A `puppetdb.conf` of Puppet's own tools, instead of `server_urls`.
    pub conf: Option<PathBuf>,
    /// CA certificate for the PuppetDB. The server's own certificate files are used for absent
    /// ones.
    pub cacert: Option<PathBuf>,
    pub cert: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// Timeout of a query in seconds, over all servers.
    #[serde(default)]
    pub timeout_s: Option<u64>,
    /// True if facts, catalogs and reports that agents exchange with this server are forwarded to
    /// it.
    #[serde(default = "default_forward")]
    pub forward: bool,
    /// True if capabilities of nodes whose catalogs other servers compile are read from it.
    #[serde(default)]
    pub capabilities: bool,
}

fn default_forward() -> bool {
    true
}

/// Reports of Puppet runs that agents send to this server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ReportsSection {
    /// Number of days after which reports are deleted.
    pub keep_days: u32,
    /// Number of reports that are kept of each node.
    pub keep_of_node: u64,
    /// Programs that run once for each report.
    pub processors: Vec<ReportProcessorSection>,
}

/// A program that gets each report on its standard input.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReportProcessorSection {
    /// Path of the program.
    pub program: PathBuf,
    /// Arguments of the program.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Results of the runs whose reports it gets: `changed`, `unchanged` and `failed`.
    #[serde(default = "all_statuses")]
    pub statuses: Vec<String>,
    /// Seconds after which the program is killed.
    #[serde(default = "default_processor_timeout")]
    pub timeout_s: u64,
}

fn all_statuses() -> Vec<String> {
    let all = [RunStatus::Changed, RunStatus::Unchanged, RunStatus::Failed];
    all.iter().map(RunStatus::to_string).collect()
}

fn default_processor_timeout() -> u64 {
    PROCESSOR_TIMEOUT.as_secs()
}

impl Default for ReportsSection {
    fn default() -> Self {
        let days = KEEP_REPORTS.as_secs() / SECONDS_OF_DAY;
        Self {
            keep_days: u32::try_from(days).unwrap_or(u32::MAX),
            keep_of_node: REPORTS_OF_NODE,
            processors: Vec::new(),
        }
    }
}

/// The embedded inventory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EmbeddedInventorySection {
    /// True if facts are collected from agents.
    pub collect_facts: bool,
    /// Seconds between two collections from a node.
    pub facts_interval_s: u64,
}

impl Default for EmbeddedInventorySection {
    fn default() -> Self {
        Self {
            collect_facts: true,
            facts_interval_s: ::inventory::defaults::FACTS_INTERVAL.as_secs(),
        }
    }
}

// === impl PuppetDbSection ===

impl PuppetDbSection {
    pub(super) fn check(&self) -> Result<(), String> {
        match (&self.conf, self.server_urls.is_empty()) {
            (None, true) => Err(
                "puppetdb.server_urls is empty; name a PuppetDB, or leave the section \
                 [puppetdb] out"
                    .to_owned(),
            ),
            (Some(_), false) => {
                Err("puppetdb.conf and puppetdb.server_urls contradict each other".to_owned())
            }
            _ if self.timeout_s == Some(0) => {
                Err("puppetdb.timeout_s must be at least 1".to_owned())
            }
            // else PuppetDB would keep what a node that moved to this server produced before
            _ if self.capabilities && !self.forward => {
                Err("puppetdb.capabilities needs puppetdb.forward".to_owned())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let own = [
            &mut self.conf,
            &mut self.cacert,
            &mut self.cert,
            &mut self.key,
        ];
        own.into_iter().flatten()
    }

    /// Servers, files and timeouts; `own` are the server's TLS files.
    pub(crate) fn settings(&self, own: TlsFiles) -> Result<PuppetDbConfig, ConfError> {
        let files = [&self.cacert, &self.cert, &self.key].map(|file| file.as_deref());
        let tls = client_files(own, files[0], files[1], files[2]);
        let mut settings = match &self.conf {
            Some(file) => PuppetDbConfig::from_file(file, tls),
            None => PuppetDbConfig::new(&self.server_urls, tls),
        }?;
        if let Some(seconds) = self.timeout_s {
            settings.total_timeout = Duration::from_secs(seconds);
        }
        Ok(settings)
    }
}

// === impl ReportsSection ===

impl ReportsSection {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.keep_days == 0 {
            return Err("reports.keep_days must be at least 1".to_owned());
        }
        if self.keep_of_node == 0 {
            return Err("reports.keep_of_node must be at least 1".to_owned());
        }
        if self.processors.len() > REPORT_PROCESSORS {
            return Err(format!(
                "reports.processors has {} programs; at most {REPORT_PROCESSORS} can be configured",
                self.processors.len()
            ));
        }
        let mut programs = BTreeSet::new();
        for processor in &self.processors {
            processor.check()?;
            if !programs.insert(&processor.program) {
                return Err(format!(
                    "reports.processors names {} twice; name it once, with the statuses of both",
                    processor.program.display()
                ));
            }
        }
        Ok(())
    }

    pub(super) fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let processors = self.processors.iter_mut();
        processors.map(|processor| &mut processor.program)
    }

    pub(crate) fn processors(&self) -> Vec<ReportProcessor> {
        let processors = self.processors.iter();
        processors
            .map(|it| ReportProcessor {
                program: it.program.clone(),
                arguments: it.arguments.clone(),
                statuses: it.statuses().filter_map(Result::ok).collect(),
                timeout: Duration::from_secs(it.timeout_s),
            })
            .collect()
    }

    pub(crate) fn keep(&self) -> Duration {
        Duration::from_secs(u64::from(self.keep_days) * SECONDS_OF_DAY)
    }
}

// === impl ReportProcessorSection ===

impl ReportProcessorSection {
    fn statuses(&self) -> impl Iterator<Item = Result<RunStatus, &str>> {
        let statuses = self.statuses.iter();
        statuses.map(|status| status.parse().map_err(|()| status.as_str()))
    }

    fn check(&self) -> Result<(), String> {
        let program = self.program.display();
        if self.program.as_os_str().is_empty() {
            return Err("reports.processors has an entry with an empty program".to_owned());
        }
        if self.statuses.is_empty() {
            return Err(format!(
                "reports.processors: {program} has no statuses; name some of changed, unchanged and \
                 failed, or leave statuses out for all"
            ));
        }
        if let Some(Err(unknown)) = self.statuses().find(Result::is_err) {
            return Err(format!(
                "reports.processors: the status {unknown:?} of {program} is none of changed, unchanged \
                 and failed"
            ));
        }
        let most = PROCESSOR_TIMEOUT_MAX.as_secs();
        match (1..=most).contains(&self.timeout_s) {
            true => Ok(()),
            false => Err(format!(
                "reports.processors: timeout_s of {program} must be 1 to {most}"
            )),
        }
    }
}

// === impl EmbeddedInventorySection ===

impl EmbeddedInventorySection {
    pub(super) fn check(&self) -> Result<(), String> {
        match self.facts_interval_s {
            60.. => Ok(()),
            _ => Err("inventory.facts_interval_s must be at least 60".to_owned()),
        }
    }
}
