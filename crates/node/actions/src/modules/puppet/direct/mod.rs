//! Runs that start Puppet only if it has work (Direct Puppet): [`DirectRun`].
//!
//! With `"files": "native"` in `pxp-module-puppet.conf`, an ordinary run asks the server whether the last catalog
//! of this node is still the right one, and compares the files of the node with it. If all are as they
//! should be, the run is over; if one is not, Puppet applies the last catalog. Puppet asks for a new catalog if
//! the last one is not current, and at least once in `full_run_interval_s`, since services, packages and facts
//! are looked at by Puppet alone.
//!
//! Files are repaired by Puppet and not here, because a change of a file may restart services, is backed up and
//! appears in the report.
//!
//! Invariant: a run without Puppet is one of a catalog that the server called current, and that Puppet applied
//! without failures less than the interval ago.

mod cached_catalog;
mod expected_file;
mod file_check;
mod full_run;
mod plain_flags;
mod report;
mod server;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use error_causes::chain;
use jiff::Timestamp;
use pxp::action::PuppetResult;
use uuid::Uuid;

use self::cached_catalog::CachedCatalog;
use self::file_check::{FileDrift, find_drift};
use self::full_run::FullRun;
use self::plain_flags::PlainFlags;
use self::report::UnchangedRun;
use self::server::{CatalogServer, CatalogServerError};
use super::settings::CatalogSettings;
use crate::defaults::SHOWN_DRIFTS;

/// A run that may do without Puppet.
pub(super) struct DirectRun<'r> {
    pub(super) flags: &'r [String],
    pub(super) settings: &'r CatalogSettings,
    /// Path of the cached settings of Puppet; records of runs are in the same directory.
    pub(super) settings_file: &'r Path,
    /// Longest time between two runs of Puppet.
    pub(super) full_run_interval: Duration,
}

/// What a run does.
#[derive(Debug)]
pub(super) enum DirectStep {
    /// It is over: nothing had to be changed.
    Unchanged(Box<PuppetResult>),
    /// Puppet applies the last catalog, for this reason.
    LastCatalog(String),
    /// Puppet asks for a catalog, for this reason.
    NewCatalog(String),
}

impl DirectRun<'_> {
    /// Decides what this run does. Blocks on the network and the disk.
    pub(super) fn decide(&self) -> DirectStep {
        self.try_decide().unwrap_or_else(DirectStep::NewCatalog)
    }

    /// The error is the reason that Puppet asks for a catalog.
    fn try_decide(&self) -> Result<DirectStep, String> {
        let (began, since) = (Timestamp::now(), Instant::now());
        let full_run = FullRun::read(&FullRun::path(self.settings_file));
        let full_run = full_run.ok_or("no complete run of Puppet is known")?;
        let age = full_run.age(began).ok_or("the clock was set back")?;
        if age >= self.full_run_interval {
            let seconds = age.as_secs();
            return Err(format!(
                "the last complete run of Puppet was {seconds} seconds ago"
            ));
        }
        let catalog = CachedCatalog::read(&self.catalog_path());
        let catalog = catalog.map_err(|error| error.to_string())?;
        if catalog.digest != full_run.catalog_digest {
            return Err("the last catalog is not that of the last complete run".to_owned());
        }
        let flags = PlainFlags::read(self.flags, &catalog.environment);
        let flags = flags.ok_or("this run has options of its own")?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let server = self.check_with_server(&runtime, &catalog)?;
        let drifts = find_drift(&catalog);
        if !drifts.is_empty() {
            return Ok(DirectStep::LastCatalog(describe_drifts(&drifts)));
        }
        let run = UnchangedRun {
            catalog: &catalog,
            transaction_uuid: Uuid::new_v4(),
            job_id: flags.job_id,
            began,
            took: since.elapsed(),
            puppet_version: full_run.puppet_version,
        };
        let sent = runtime.block_on(server.send_report(&catalog, &run.report()));
        // as with Puppet, a run counts even if its report is lost
        let lost = sent.err().map(|error| error.to_string());
        let mut result = run.into_result();
        result
            .errors
            .extend(lost.map(|why| format!("the report was not sent: {why}")));
        Ok(DirectStep::Unchanged(Box::new(result)))
    }

    /// The first server that calls the catalog current.
    fn check_with_server(
        &self,
        runtime: &tokio::runtime::Runtime,
        catalog: &CachedCatalog,
    ) -> Result<CatalogServer, String> {
        let mut last = "Puppet has no setting `server`".to_owned();
        for server in CatalogServer::of_settings(self.settings) {
            let server = server.map_err(|error| error.to_string())?;
            match runtime.block_on(server.check(catalog)) {
                Ok(answer) if answer.current => return Ok(server),
                Ok(answer) => {
                    let reason = answer.reason.unwrap_or_default();
                    return Err(format!("the last catalog is not current: {reason}"));
                }
                // another one may answer
                Err(error @ CatalogServerError::Request { .. }) => last = chain(&error),
                Err(error) => return Err(error.to_string()),
            }
        }
        Err(last)
    }

    /// Records a run of Puppet. After one with failures, the next run is one with a new catalog.
    pub(super) fn record_run(&self, result: &PuppetResult, is_new_catalog: bool) {
        let path = FullRun::path(self.settings_file);
        if FullRun::has_failed(result) {
            return FullRun::forget(&path);
        }
        let environment = &result.environment;
        let is_plain = PlainFlags::read(self.flags, environment).is_some();
        if !is_new_catalog || !is_plain || !FullRun::is_complete(result) {
            return;
        }
        let Ok(catalog) = CachedCatalog::read(&self.catalog_path()) else {
            return;
        };
        // another run may have got a catalog since
        if result.catalog_uuid.as_ref() != Some(&catalog.catalog_uuid) {
            return;
        }
        let run = FullRun {
            catalog_digest: catalog.digest,
            ended: Timestamp::now(),
            puppet_version: result.puppet_version.clone(),
        };
        run.write(&path);
    }

    /// Lets the next run be one of Puppet, since this one requested another run: what that one finds is in facts, which
    /// only Puppet collects.
    pub(super) fn require_full_run(&self) {
        FullRun::forget(&FullRun::path(self.settings_file));
    }

    fn catalog_path(&self) -> PathBuf {
        let certname = &self.settings.certname;
        let directory = self.settings.client_datadir.join("catalog");
        directory.join(format!("{certname}.json"))
    }
}

/// Lists the first drifts, and counts the others.
fn describe_drifts(drifts: &[FileDrift]) -> String {
    let shown = drifts.iter().take(SHOWN_DRIFTS);
    let mut shown: Vec<String> = shown
        .map(|drift| format!("{}: {}", drift.path.display(), drift.difference))
        .collect();
    if drifts.len() > SHOWN_DRIFTS {
        shown.push(format!("and {} more", drifts.len() - SHOWN_DRIFTS));
    }
    shown.join("; ")
}

#[cfg(test)]
mod tests;
