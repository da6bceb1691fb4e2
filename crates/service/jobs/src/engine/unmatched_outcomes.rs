//! Outcomes for runs that are not in the book: duplicates, forgeries, and real outcomes that come
//! late.
//!
//! Invariant: a terminal state stays; a real outcome of a run that was given up is written to the
//! event log before its agent may forget it. An outcome that is no news, or of a run that is no
//! longer known, is acknowledged at once: its agent would otherwise send it again for weeks.

use pcp::Certname;
use pxp::TransactionId;
use pxp::action::{self, ActionResult};
use store::{EventChange, JobRunChange, RunRow};

use super::late_outcomes::{FinalReport, LateOutcome, OutcomeLookup};
use super::ledger::CommitFollowUp;
use super::outgoing::OutgoingMessage;
use super::state::JobEngine;
use crate::defaults::{INLINE_RESULT_BYTES, LATE_LOOKUPS};
use crate::events;
use crate::outcome::{self, OutcomeContext};
use crate::puppet::RunExpectation;
use crate::puppet::agent_result::{self as puppet, PuppetRunResult};
use crate::state::RunState;
use crate::verdict::{clip, is_given_up_result, is_undetermined};

/// Only the outcome itself is still known.
const LATE: OutcomeContext = OutcomeContext {
    stock_agent: false,
    cancelling: None,
    timeout_seconds: 0,
    has_replaced_bytes: false,
};

// === impl JobEngine ===

impl JobEngine {
    /// Looks up in the store the run that the outcome belongs to.
    pub(super) fn look_up(
        &mut self,
        certname: &Certname,
        transaction: TransactionId,
        said: FinalReport,
    ) {
        if self.lookups.len() >= LATE_LOOKUPS {
            // Without an acknowledgement, Tutti's own agents send it again.
            self.deps.metrics.ignored_messages.inc();
            return;
        }
        let store = self.deps.store.clone();
        let certname = certname.clone();
        self.lookups.spawn(async move {
            let row = store.run_by_transaction(transaction.as_str()).await;
            OutcomeLookup {
                certname,
                transaction,
                report: said,
                row,
            }
        });
    }

    pub(super) fn handle_lookup(&mut self, looked: OutcomeLookup) {
        let OutcomeLookup {
            certname,
            transaction,
            report: said,
            row,
        } = looked;
        let row = match row {
            Ok(Some(row)) => row,
            Ok(None) => {
                tracing::debug!(%certname, %transaction, "outcome of an unknown run");
                self.deps.metrics.ignored_messages.inc();
                let outgoing = self.acknowledge_late(&certname, transaction);
                return self.send(outgoing.into_iter().collect());
            }
            Err(error) => {
                tracing::warn!(%certname, %transaction, %error, "cannot look up an outcome's run");
                return;
            }
        };
        if row.certname != certname.as_str() {
            tracing::warn!(%certname, "a node spoke for a run of another node; ignored");
            self.deps.metrics.forged_messages.inc();
            return;
        }
        if !RunState::parse(&row.state).is_some_and(RunState::is_terminal) {
            // The run's end is in a commit that is under way; the agent will send it again.
            return;
        }
        let news = said.is_informative() && row.result.as_deref().is_some_and(is_given_up_result);
        if !news || self.late_outcomes.is_logged(&transaction) {
            let outgoing = self.acknowledge_late(&certname, transaction);
            return self.send(outgoing.into_iter().collect());
        }
        if self.late_outcomes.begin(&transaction) {
            self.log_late(&certname, transaction, &row, &said);
        }
    }

    fn log_late(
        &mut self,
        certname: &Certname,
        transaction: TransactionId,
        row: &RunRow,
        said: &FinalReport,
    ) {
        self.deps.metrics.late_outcomes.inc();
        let (outcome, told) = said.describe_report();
        let exit_code = outcome.as_ref().map(|outcome| outcome.exitcode);
        tracing::warn!(
            %certname, job = %row.job, ?exit_code,
            "the outcome of a run came after it was given up; its state stays, an event is logged"
        );
        let result = said
            .to_puppet_result()
            .map(|ran| ran.shape(None, RunExpectation::default()).result);
        let result =
            result.or_else(|| outcome.map(|outcome| outcome::shape(&outcome, LATE, None).result));
        let result = result
            .filter(|result| result.len() <= INLINE_RESULT_BYTES)
            .and_then(|result| serde_json::from_str(&result).ok());
        let event =
            events::late_outcome(certname, exit_code, &told, result, self.deps.clock.now_ms());
        let change = JobRunChange::Event(EventChange {
            job: row.job,
            event,
        });
        let late = LateOutcome {
            certname: certname.clone(),
            transaction,
        };
        self.ledger
            .push(change, CommitFollowUp::LateLogged(Box::new(late)));
    }

    pub(super) fn handle_late_logged(&mut self, late: LateOutcome) -> Option<OutgoingMessage> {
        self.late_outcomes.remember(late.transaction.clone());
        self.acknowledge_late(&late.certname, late.transaction)
    }

    fn acknowledge_late(
        &self,
        certname: &Certname,
        transaction: TransactionId,
    ) -> Option<OutgoingMessage> {
        let acknowledges = self
            .deps
            .fabric
            .presence(certname)?
            .capabilities
            .is_some_and(|capabilities| capabilities.acknowledged_results);
        acknowledges.then(|| self.build_acknowledgement(certname, transaction))
    }
}

// === impl FinalReport ===

impl FinalReport {
    /// True if this is more than a report that the outcome cannot be determined.
    fn is_informative(&self) -> bool {
        !matches!(self, Self::Error(words) if is_undetermined(words))
    }

    /// The outcome, if it is a Puppet run's: its job is over, and the run's effect is not known
    /// here.
    fn to_puppet_result(&self) -> Option<PuppetRunResult> {
        let Self::Result(results) = self else {
            return None;
        };
        puppet::parse_result(results.get(), LATE)
            .ok()
            .filter(PuppetRunResult::is_from_puppet)
    }

    /// The outcome, if there is one, and its description as text.
    fn describe_report(&self) -> (Option<ActionResult>, String) {
        let results = match self {
            Self::Error(words) => return (None, format!("its agent says: {}", clip(words))),
            Self::Result(results) => results,
        };
        let outcome = action::decode::<ActionResult>(results).ok();
        let told = match &outcome {
            Some(outcome) => format!("it ended with exit code {}", outcome.exitcode),
            None => "its agent sent a result that is no action's".to_owned(),
        };
        (outcome, told)
    }
}
