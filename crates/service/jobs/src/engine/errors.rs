//! Errors in place of an outcome: the conclusions from them, and from a status query.
//!
//! Invariant: a run ends as "did not run" only on a proof ([`ErrorEvidence`]). An error without one is
//! kept as a [`AgentErrorClaim`] while a status query is under way; the answer, or its absence, ends the run.

use pxp::action::ActionResult;
use tokio::time::Instant;

use super::active_jobs::AgentErrorClaim;
use super::fall_back::explain_refusal;
use super::state::JobEngine;
use crate::keys::RunKey;
use crate::outcome::{self, OutcomeContext};
use crate::over_ssh::NodeTransport;
use crate::verdict::{ErrorEvidence, ErrorReporter, RunVerdict};

// === impl JobEngine ===

impl JobEngine {
    /// Handles an `rpc_error_message` about a run.
    pub(super) fn handle_run_error(&mut self, key: RunKey, words: &str) {
        // Earlier decisions stay; the agent sends the error again once they are durable.
        if self
            .active_jobs
            .dispatched_mut(key)
            .is_none_or(|flying| flying.shaping)
            || self.fall_back(key, words)
        {
            return;
        }
        let evidence = ErrorEvidence::from_rpc_error(words, self.error_reporter(key));
        let accepted = self.was_accepted(key);
        match evidence {
            // The request was accepted before, so the error is about a repetition of it.
            ErrorEvidence::NotRun if accepted && ErrorEvidence::is_validation_error(words) => {
                self.record_claim(key, ErrorEvidence::Unproved, words);
            }
            ErrorEvidence::NotRun | ErrorEvidence::Undetermined => {
                let verdict = self.error_verdict(key, evidence, words);
                self.give_up_reported(key, &verdict);
            }
            ErrorEvidence::ResultLost | ErrorEvidence::Unproved => {
                self.record_claim(key, evidence, words)
            }
        }
    }

    /// Handles an `error_message` that answers the request of a run.
    pub(super) fn handle_run_pcp_error(&mut self, key: RunKey, from_broker: bool, words: &str) {
        let evidence = ErrorEvidence::from_pcp_error(words);
        if evidence != ErrorEvidence::NotRun || self.was_accepted(key) {
            return self.record_claim(key, ErrorEvidence::Unproved, words);
        }
        // Every broker since the first uses this text: nothing was delivered.
        let verdict = if from_broker && words == "Not connected." {
            RunVerdict::NotConnected
        } else {
            RunVerdict::Refused(words.to_owned())
        };
        self.give_up(key, &verdict);
    }

    /// Keeps the error and sends a status query to the agent.
    fn record_claim(&mut self, key: RunKey, evidence: ErrorEvidence, words: &str) {
        let (now, patience) = (Instant::now(), self.deps.poll_settings);
        let Some(flying) = self.active_jobs.dispatched_mut(key) else {
            return;
        };
        flying.flight.record_accepted(now, &patience);
        let words = words.to_owned();
        flying.claim = Some(Box::new(AgentErrorClaim {
            error_text: words,
            evidence,
        }));
        let query = self.build_query(key);
        self.send(query.into_iter().collect());
    }

    /// The verdict on a run that is over by a status answer without a result: the answer has the
    /// agent's own error, or it is empty and an error came before.
    pub(super) fn status_verdict(
        &mut self,
        key: RunKey,
        outcome: Option<&ActionResult>,
    ) -> Option<RunVerdict> {
        let claim = self.active_jobs.dispatched_mut(key)?.claim.take();
        let stdout = outcome.and_then(|outcome| outcome.stdout.as_deref());
        let told = stdout.and_then(outcome::agent_error);
        let is_result = stdout.is_some() && told.is_none();
        let (evidence, words) = match (claim, told) {
            _ if is_result => return None,
            (Some(claim), told) if claim.evidence != ErrorEvidence::Unproved || told.is_none() => {
                (claim.evidence, claim.error_text)
            }
            (_, Some(words)) => (
                ErrorEvidence::from_rpc_error(&words, self.error_reporter(key)),
                words,
            ),
            (_, None) => return None,
        };
        if evidence == ErrorEvidence::ResultLost {
            let known = self.outcome_context(key)?;
            let exit_code = outcome.map(|outcome| outcome::exit_code(outcome, known));
            return Some(RunVerdict::ResultLost { words, exit_code });
        }
        Some(self.error_verdict(key, evidence, &words))
    }

    /// Ends a run for which no status answer will come, by the error that came before.
    pub(super) fn settle_by_claim(&mut self, key: RunKey) {
        if let Some(verdict) = self.claim_verdict(key) {
            self.give_up_reported(key, &verdict);
        }
    }

    /// Ends the run with the error that its agent reported, or with `verdict` if it reported none.
    pub(super) fn give_up_unless_claimed(&mut self, key: RunKey, verdict: &RunVerdict) {
        match self.claim_verdict(key) {
            Some(claimed) => self.give_up_reported(key, &claimed),
            None => self.give_up(key, verdict),
        }
    }

    fn claim_verdict(&mut self, key: RunKey) -> Option<RunVerdict> {
        let claim = self.active_jobs.dispatched_mut(key)?.claim.take()?;
        Some(self.error_verdict(key, claim.evidence, &claim.error_text))
    }

    fn error_verdict(&self, key: RunKey, evidence: ErrorEvidence, words: &str) -> RunVerdict {
        let via = self
            .active_jobs
            .run(key)
            .map_or(NodeTransport::Agent, |run| run.via);
        if evidence != ErrorEvidence::NotRun {
            return RunVerdict::from_error(evidence, words, via);
        }
        let job = self.active_jobs.jobs.get(&key.job);
        let words = explain_refusal(job.and_then(|job| job.dispatch.action.as_ref()), words);
        RunVerdict::from_error(evidence, &words, via)
    }

    fn was_accepted(&mut self, key: RunKey) -> bool {
        let flying = self.active_jobs.dispatched_mut(key);
        flying.is_some_and(|flying| flying.flight.was_accepted())
    }

    fn error_reporter(&mut self, key: RunKey) -> ErrorReporter {
        match self.outcome_context(key) {
            Some(OutcomeContext {
                stock_agent: false, ..
            }) => ErrorReporter::Tutti,
            _ => ErrorReporter::Stock,
        }
    }
}
