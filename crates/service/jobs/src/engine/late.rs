//! Outcomes for runs that are not in the book: duplicates, forgeries, and real outcomes that come
//! late.
//!
//! Invariant: a terminal state stays; a real outcome of a run that was given up is written to the
//! event log before its agent may forget it. An outcome that is no news, or of a run that is no
//! longer known, is acknowledged at once: its agent would otherwise send it again for weeks.

use pcp::Certname;
use pxp::TransactionId;
use pxp::action::{self, ActionResult};
use store::{Change, EventChange, RunRow};

use super::late_outcomes::{Late, Looked, Said};
use super::ledger::After;
use super::outgoing::Outgoing;
use super::state::Engine;
use crate::defaults::{INLINE_RESULT_BYTES, LATE_LOOKUPS};
use crate::events;
use crate::metrics::count;
use crate::outcome::{self, Circumstances};
use crate::puppet::said::{self as puppet, Ran};
use crate::state::RunState;
use crate::verdict::{clip, is_guess, is_undetermined};

/// Only the outcome itself is still known.
const LATE: Circumstances = Circumstances {
    stock_agent: false,
    cancelling: None,
    timeout_seconds: 0,
    has_replaced_bytes: false,
};

// === impl Engine ===

impl Engine {
    /// Looks up in the store the run that the outcome belongs to.
    pub(super) fn look_up(&mut self, certname: &Certname, transaction: TransactionId, said: Said) {
        if self.looking.len() >= LATE_LOOKUPS {
            // Without an acknowledgement, Tutti's own agents send it again.
            return count(&self.parts.metrics.ignored_messages);
        }
        let store = self.parts.store.clone();
        let certname = certname.clone();
        self.looking.spawn(async move {
            let row = store.run_by_transaction(transaction.as_str()).await;
            Looked {
                certname,
                transaction,
                said,
                row,
            }
        });
    }

    pub(super) fn looked(&mut self, looked: Looked) {
        let Looked {
            certname,
            transaction,
            said,
            row,
        } = looked;
        let row = match row {
            Ok(Some(row)) => row,
            Ok(None) => {
                tracing::debug!(%certname, %transaction, "outcome of an unknown run");
                count(&self.parts.metrics.ignored_messages);
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
            return count(&self.parts.metrics.forged_messages);
        }
        if !RunState::parse(&row.state).is_some_and(RunState::is_terminal) {
            // The run's end is in a commit that is under way; the agent will send it again.
            return;
        }
        let news = said.tells_something() && row.result.as_deref().is_some_and(is_guess);
        if !news || self.late.is_logged(&transaction) {
            let outgoing = self.acknowledge_late(&certname, transaction);
            return self.send(outgoing.into_iter().collect());
        }
        if self.late.begin(&transaction) {
            self.log_late(&certname, transaction, &row, &said);
        }
    }

    fn log_late(
        &mut self,
        certname: &Certname,
        transaction: TransactionId,
        row: &RunRow,
        said: &Said,
    ) {
        count(&self.parts.metrics.late_outcomes);
        let (outcome, told) = said.read();
        let exit_code = outcome.as_ref().map(|outcome| outcome.exitcode);
        tracing::warn!(
            %certname, job = %row.job, ?exit_code,
            "the outcome of a run came after it was given up; its state stays, an event is logged"
        );
        let result = said.puppet().map(|ran| ran.shape(None, None).result);
        let result =
            result.or_else(|| outcome.map(|outcome| outcome::shape(&outcome, LATE, None).result));
        let result = result
            .filter(|result| result.len() <= INLINE_RESULT_BYTES)
            .and_then(|result| serde_json::from_str(&result).ok());
        let event = events::late_outcome(
            certname,
            exit_code,
            &told,
            result,
            self.parts.clock.now_ms(),
        );
        let change = Change::Event(EventChange {
            job: row.job,
            event,
        });
        let late = Late {
            certname: certname.clone(),
            transaction,
        };
        self.ledger.push(change, After::LateLogged(Box::new(late)));
    }

    pub(super) fn late_logged(&mut self, late: Late) -> Option<Outgoing> {
        self.late.remember(late.transaction.clone());
        self.acknowledge_late(&late.certname, late.transaction)
    }

    fn acknowledge_late(
        &self,
        certname: &Certname,
        transaction: TransactionId,
    ) -> Option<Outgoing> {
        let acknowledges = self
            .parts
            .fabric
            .presence(certname)?
            .capabilities
            .is_some_and(|capabilities| capabilities.acknowledged_results);
        acknowledges.then(|| self.acknowledge(certname, transaction))
    }
}

// === impl Said ===

impl Said {
    /// True if this is more than a report that the outcome cannot be determined.
    fn tells_something(&self) -> bool {
        !matches!(self, Self::Error(words) if is_undetermined(words))
    }

    /// The outcome, if it is a Puppet run's: its job is over, and the run's effect is not known
    /// here.
    fn puppet(&self) -> Option<Ran> {
        let Self::Result(results) = self else {
            return None;
        };
        puppet::read(results.get(), LATE)
            .ok()
            .filter(Ran::is_of_puppet)
    }

    /// The outcome, if there is one, and its description as text.
    fn read(&self) -> (Option<ActionResult>, String) {
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
