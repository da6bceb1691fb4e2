//! Ends of Puppet runs: the agent's result, completed by the run's report.
//!
//! Invariant: the report is looked up before the end is written, for a bounded time; a report store
//! that does not answer costs the report's part of the result, never the run's outcome.

use std::sync::Arc;

use environments::EnvironmentName;
use pcp::Certname;
use pxp::action::CodeId;
use store::JobNumber;

use super::state::{JobEngine, ShapedOutcome};
use crate::applications::ApplicationGraphs;
use crate::defaults::{INLINE_RESULT_BYTES, REPORT_WAIT};
use crate::keys::RunKey;
use crate::outcome::{self, OutcomeContext, RunOutcome};
use crate::puppet::RunExpectation;
use crate::puppet::agent_result::{self as puppet, PuppetRunResult};
use crate::resolve::{NodeResolver, PuppetReportSummary};

/// The data needed to shape a run's end outside the engine's actor.
pub(super) struct PuppetOutcomeInput {
    pub(super) certname: Certname,
    pub(super) job: JobNumber,
    pub(super) noop: bool,
    pub(super) results: Arc<str>,
    pub(super) context: OutcomeContext,
    pub(super) resolve: Arc<dyn NodeResolver>,
    pub(super) console_url: Option<String>,
    /// The version that the job names; `None`: it names none.
    pub(super) pinned: Option<CodeId>,
    /// The environment that the job enforces; `None`: others are allowed.
    pub(super) environment: Option<String>,
    pub(super) applications: Arc<dyn ApplicationGraphs>,
    /// Capabilities that other nodes of the job consume from this one, and their environment.
    pub(super) products: Option<(EnvironmentName, Vec<String>)>,
}

// === impl JobEngine ===

impl JobEngine {
    /// Handles the results of a Puppet run; they are recorded after the report was looked up.
    pub(super) fn handle_puppet_result(
        &mut self,
        key: RunKey,
        results: Arc<str>,
        known: OutcomeContext,
    ) {
        let Some(job) = self.active_jobs.jobs.get(&key.job) else {
            return;
        };
        let reported = PuppetOutcomeInput {
            certname: job.runs[key.index].certname.clone(),
            job: job.number,
            noop: job.dispatch.noop,
            results,
            context: known,
            resolve: Arc::clone(&self.deps.resolve),
            console_url: self.deps.console_url.clone(),
            pinned: job.dispatch.pinned.as_ref().map(|it| it.code_id.clone()),
            environment: job.dispatch.enforced_environment.clone(),
            applications: Arc::clone(&self.deps.applications),
            products: job.products(key.index),
        };
        if let Some(flying) = self.active_jobs.dispatched_mut(key) {
            flying.shaping = true;
        }
        self.reporting.spawn(async move {
            ShapedOutcome {
                run: key,
                shaped: reported.shape_outcome().await,
            }
        });
    }
}

// === impl PuppetOutcomeInput ===

impl PuppetOutcomeInput {
    async fn shape_outcome(self) -> RunOutcome {
        let ran = match self.parse_result().await {
            Ok(ran) => ran,
            Err(problem) => return outcome::shape_unreadable(&problem),
        };
        let report = self.find_report(&ran).await;
        let missing = self.find_missing_capabilities(&ran).await;
        let expected = RunExpectation {
            console: self.console_url.as_deref(),
            code_id: self.pinned.as_ref(),
            environment: self.environment.as_deref(),
            missing_capabilities: &missing,
        };
        ran.shape(report.as_ref(), expected)
    }

    async fn parse_result(&self) -> Result<PuppetRunResult, String> {
        let (results, known) = (Arc::clone(&self.results), self.context);
        if results.len() <= INLINE_RESULT_BYTES {
            return puppet::parse_result(&results, known);
        }
        tokio::task::spawn_blocking(move || puppet::parse_result(&results, known))
            .await
            .map_err(|error| error.to_string())?
    }

    /// The capabilities that the node should have produced and did not; empty if that cannot be determined: then
    /// the catalogs of the consumers show it.
    async fn find_missing_capabilities(&self, ran: &PuppetRunResult) -> Vec<String> {
        let Some((environment, products)) = &self.products else {
            return Vec::new();
        };
        let certname = &self.certname;
        let wanted = (products.as_slice(), ran.transaction_uuid());
        let looking =
            self.applications
                .missing_capabilities_after_run(environment, certname, wanted);
        match tokio::time::timeout(REPORT_WAIT, looking).await {
            Ok(Ok(missing)) => missing,
            Ok(Err(error)) => {
                tracing::warn!(%certname, %error, "the capabilities of a node cannot be looked up");
                Vec::new()
            }
            Err(_) => {
                tracing::warn!(%certname, "the capabilities of a node were not found in time");
                Vec::new()
            }
        }
    }

    async fn find_report(&self, ran: &PuppetRunResult) -> Option<PuppetReportSummary> {
        let run = ran.to_puppet_run(&self.certname, self.job, self.noop)?;
        let (certname, transaction_uuid) = (&self.certname, &run.transaction_uuid);
        match tokio::time::timeout(REPORT_WAIT, self.resolve.find_report(&run)).await {
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
