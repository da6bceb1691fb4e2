//! Ends of Puppet runs: the agent's result, completed by the run's report.
//!
//! Invariant: the report is looked up before the end is written, for a bounded time; a report store
//! that does not answer costs the report's part of the result, never the run's outcome.

use std::sync::Arc;

use pcp::Certname;
use store::JobNumber;

use super::state::{Engine, ShapedOutcome};
use crate::defaults::{INLINE_RESULT_BYTES, REPORT_WAIT};
use crate::keys::RunKey;
use crate::outcome::{self, Circumstances, Shaped};
use crate::puppet::said::{self as puppet, Ran};
use crate::resolve::{Resolve, RunReport};

/// The data needed to shape a run's end outside the engine's actor.
pub(super) struct Reported {
    pub(super) certname: Certname,
    pub(super) job: JobNumber,
    pub(super) noop: bool,
    pub(super) results: Arc<str>,
    pub(super) known: Circumstances,
    pub(super) resolve: Arc<dyn Resolve>,
    pub(super) console_url: Option<String>,
}

// === impl Engine ===

impl Engine {
    /// Handles the results of a Puppet run; they are recorded after the report was looked up.
    pub(super) fn puppet_ran(&mut self, key: RunKey, results: Arc<str>, known: Circumstances) {
        let Some(job) = self.book.jobs.get(&key.job) else {
            return;
        };
        let reported = Reported {
            certname: job.runs[key.index].certname.clone(),
            job: job.number,
            noop: job.noop,
            results,
            known,
            resolve: Arc::clone(&self.parts.resolve),
            console_url: self.parts.console_url.clone(),
        };
        if let Some(flying) = self.book.flying(key) {
            flying.shaping = true;
        }
        self.reporting.spawn(async move {
            ShapedOutcome {
                run: key,
                shaped: reported.shape().await,
            }
        });
    }
}

// === impl Reported ===

impl Reported {
    async fn shape(self) -> Shaped {
        let ran = match self.read().await {
            Ok(ran) => ran,
            Err(problem) => return outcome::unreadable(&problem),
        };
        let report = self.report(&ran).await;
        ran.shape(report.as_ref(), self.console_url.as_deref())
    }

    async fn read(&self) -> Result<Ran, String> {
        let (results, known) = (Arc::clone(&self.results), self.known);
        if results.len() <= INLINE_RESULT_BYTES {
            return puppet::read(&results, known);
        }
        tokio::task::spawn_blocking(move || puppet::read(&results, known))
            .await
            .map_err(|error| error.to_string())?
    }

    async fn report(&self, ran: &Ran) -> Option<RunReport> {
        let run = ran.run(&self.certname, self.job, self.noop)?;
        let (certname, transaction_uuid) = (&self.certname, &run.transaction_uuid);
        match tokio::time::timeout(REPORT_WAIT, self.resolve.report(&run)).await {
            Ok(Ok(report)) => report,
            Ok(Err(error)) => {
                tracing::warn!(%certname, transaction_uuid, %error, "the report of a Puppet run \
                    cannot be looked up; the agent's own words stand");
                None
            }
            Err(_) => {
                let waited = REPORT_WAIT.as_secs();
                tracing::warn!(%certname, transaction_uuid, waited, "the report of a Puppet run \
                    did not come in time; the agent's own words stand");
                None
            }
        }
    }
}
