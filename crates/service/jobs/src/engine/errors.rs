//! Errors in place of an outcome: the conclusions from them, and from a status query.
//!
//! Invariant: a run ends as "did not run" only on a proof ([`Evidence`]). An error without one is
//! kept as a [`Claim`] while a status query is under way; the answer, or its absence, ends the run.

use pxp::action::ActionResult;
use tokio::time::Instant;

use super::book::Claim;
use super::fall_back::explained;
use super::state::Engine;
use crate::keys::RunKey;
use crate::outcome::{self, Circumstances};
use crate::over_ssh::Via;
use crate::verdict::{Evidence, Speaker, Verdict};

// === impl Engine ===

impl Engine {
    /// Handles an `rpc_error_message` about a run.
    pub(super) fn told_error(&mut self, key: RunKey, words: &str) {
        // Earlier decisions stay; the agent sends the error again once they are durable.
        if self.book.flying(key).is_none_or(|flying| flying.shaping) || self.fall_back(key, words) {
            return;
        }
        let evidence = Evidence::of_rpc_error(words, self.speaker(key));
        let accepted = self.was_accepted(key);
        match evidence {
            // The request was accepted before, so the error is about a repetition of it.
            Evidence::NotRun if accepted && Evidence::is_of_validation(words) => {
                self.claim(key, Evidence::Unproved, words);
            }
            Evidence::NotRun | Evidence::Undetermined => {
                let verdict = self.verdict_of_error(key, evidence, words);
                self.give_up_as_told(key, &verdict);
            }
            Evidence::ResultLost | Evidence::Unproved => self.claim(key, evidence, words),
        }
    }

    /// Handles an `error_message` that answers the request of a run.
    pub(super) fn told_pcp_error(&mut self, key: RunKey, from_broker: bool, words: &str) {
        let evidence = Evidence::of_pcp_error(words);
        if evidence != Evidence::NotRun || self.was_accepted(key) {
            return self.claim(key, Evidence::Unproved, words);
        }
        // Every broker since the first uses this text: nothing was delivered.
        let verdict = if from_broker && words == "Not connected." {
            Verdict::NotConnected
        } else {
            Verdict::Refused(words.to_owned())
        };
        self.give_up(key, &verdict);
    }

    /// Keeps the error and sends a status query to the agent.
    fn claim(&mut self, key: RunKey, evidence: Evidence, words: &str) {
        let (now, patience) = (Instant::now(), self.parts.patience);
        let Some(flying) = self.book.flying(key) else {
            return;
        };
        flying.flight.accepted(now, &patience);
        let words = words.to_owned();
        flying.claim = Some(Box::new(Claim { words, evidence }));
        let query = self.query(key);
        self.send(query.into_iter().collect());
    }

    /// The verdict on a run that is over by a status answer without a result: the answer has the
    /// agent's own error, or it is empty and an error came before.
    pub(super) fn verdict_of_status(
        &mut self,
        key: RunKey,
        outcome: Option<&ActionResult>,
    ) -> Option<Verdict> {
        let claim = self.book.flying(key)?.claim.take();
        let stdout = outcome.and_then(|outcome| outcome.stdout.as_deref());
        let told = stdout.and_then(outcome::agents_error);
        let is_result = stdout.is_some() && told.is_none();
        let (evidence, words) = match (claim, told) {
            _ if is_result => return None,
            (Some(claim), told) if claim.evidence != Evidence::Unproved || told.is_none() => {
                (claim.evidence, claim.words)
            }
            (_, Some(words)) => (Evidence::of_rpc_error(&words, self.speaker(key)), words),
            (_, None) => return None,
        };
        if evidence == Evidence::ResultLost {
            let known = self.circumstances(key)?;
            let exit_code = outcome.map(|outcome| outcome::exit_code(outcome, known));
            return Some(Verdict::ResultLost { words, exit_code });
        }
        Some(self.verdict_of_error(key, evidence, &words))
    }

    /// Ends a run for which no status answer will come, by the error that came before.
    pub(super) fn settle_by_claim(&mut self, key: RunKey) {
        if let Some(verdict) = self.claimed(key) {
            self.give_up_as_told(key, &verdict);
        }
    }

    /// Ends the run with the error that its agent reported, or with `verdict` if it reported none.
    pub(super) fn give_up_unless_claimed(&mut self, key: RunKey, verdict: &Verdict) {
        match self.claimed(key) {
            Some(claimed) => self.give_up_as_told(key, &claimed),
            None => self.give_up(key, verdict),
        }
    }

    fn claimed(&mut self, key: RunKey) -> Option<Verdict> {
        let claim = self.book.flying(key)?.claim.take()?;
        Some(self.verdict_of_error(key, claim.evidence, &claim.words))
    }

    fn verdict_of_error(&self, key: RunKey, evidence: Evidence, words: &str) -> Verdict {
        let via = self.book.run(key).map_or(Via::Agent, |run| run.via);
        if evidence != Evidence::NotRun {
            return Verdict::of_error(evidence, words, via);
        }
        let job = self.book.jobs.get(&key.job);
        let words = explained(job.and_then(|job| job.action.as_ref()), words);
        Verdict::of_error(evidence, &words, via)
    }

    fn was_accepted(&mut self, key: RunKey) -> bool {
        let flying = self.book.flying(key);
        flying.is_some_and(|flying| flying.flight.was_accepted())
    }

    fn speaker(&mut self, key: RunKey) -> Speaker {
        match self.circumstances(key) {
            Some(Circumstances {
                stock_agent: false, ..
            }) => Speaker::Tutti,
            _ => Speaker::Stock,
        }
    }
}
