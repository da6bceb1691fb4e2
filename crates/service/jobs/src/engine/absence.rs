//! Nodes that disconnect while a run of theirs is in flight.
//!
//! Invariant: an event of the job records it at the next tick, and another one when the node is
//! back; the run stays in flight, since only its agent knows the action's progress. It is given up
//! after the time allowed for a silent node (as in Puppet Enterprise, 35 requests 12 s apart).

use std::time::Duration;

use store::{Change, EventChange};
use tokio::time::Instant;

use super::book::Absence;
use super::ledger::After;
use super::state::Engine;
use crate::events;
use crate::keys::RunKey;
use crate::over_ssh::Via;
use crate::verdict::{AwaySince, Verdict};

// === impl Engine ===

impl Engine {
    /// Compares the known presence of a node with the fabric, and records a change.
    pub(super) fn look_for_absence(&mut self, key: RunKey) {
        let Some(run) = self.book.run(key).filter(|run| run.via == Via::Agent) else {
            return;
        };
        let fabric = &self.parts.fabric;
        let is_there = fabric.presence(&run.certname).is_some();
        let since = match fabric.gone_since(&run.certname) {
            Some(since) => AwaySince::Gone(since),
            None => AwaySince::Start(self.started_at),
        };
        let is_returning = !self.parts.returning.is_grace_over(Instant::now());
        let Some(flying) = self.book.flying(key) else {
            return;
        };
        let was_told = flying.absence.is_some_and(|absence| absence.is_told);
        if is_there {
            flying.absence = None;
            if was_told {
                self.tell_presence(key, None);
            }
            return;
        }
        // After a restart, all nodes are away for a moment.
        let is_told = was_told || !(is_returning && matches!(since, AwaySince::Start(_)));
        flying.absence = Some(Absence { since, is_told });
        if is_told && !was_told {
            self.tell_presence(key, Some(since));
        }
    }

    fn tell_presence(&mut self, key: RunKey, away_since: Option<AwaySince>) {
        let at_ms = self.parts.clock.now_ms();
        let seconds = self.silence_limit().as_secs();
        let Some(job) = self.book.jobs.get(&key.job) else {
            return;
        };
        let certname = &job.runs[key.index].certname;
        let event = match away_since {
            Some(since) => events::node_away(certname, since, seconds, at_ms),
            None => events::node_back(certname, at_ms),
        };
        let change = EventChange {
            job: job.number,
            event,
        };
        self.ledger
            .push(Change::Event(change), After::Told(key.job));
    }

    /// The verdict on a run whose node was silent for too long.
    pub(super) fn verdict_of_silence(&mut self, key: RunKey, asked: u32) -> Verdict {
        let seconds = self.silence_limit().as_secs();
        let absence = self.book.flying(key).and_then(|flying| flying.absence);
        match absence {
            Some(Absence { since, .. }) => Verdict::Away { since, seconds },
            None => {
                let is_stock = self.capabilities(key).is_none();
                Verdict::Silent { asked, is_stock }
            }
        }
    }

    fn silence_limit(&self) -> Duration {
        let patience = &self.parts.patience;
        patience.poll_interval * patience.poll_limit
    }
}
