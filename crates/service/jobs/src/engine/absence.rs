//! Nodes that disconnect while a run of theirs is in flight.
//!
//! Invariant: an event of the job records it at the next tick, and another one when the node is
//! back; the run stays in flight, since only its agent knows the action's progress. It is given up
//! after the time allowed for a silent node (as in Puppet Enterprise, 35 requests 12 s apart).

use std::time::Duration;

use store::{EventChange, JobRunChange};
use tokio::time::Instant;

use super::active_jobs::RunNodeAbsence;
use super::ledger::CommitFollowUp;
use super::state::JobEngine;
use crate::events;
use crate::keys::RunKey;
use crate::over_ssh::NodeTransport;
use crate::verdict::{AbsenceStart, RunVerdict};

// === impl JobEngine ===

impl JobEngine {
    /// Compares the known presence of a node with the fabric, and records a change.
    pub(super) fn update_absence(&mut self, key: RunKey) {
        let Some(run) = self
            .active_jobs
            .run(key)
            .filter(|run| run.via == NodeTransport::Agent)
        else {
            return;
        };
        let fabric = &self.deps.fabric;
        let is_there = fabric.presence(&run.certname).is_some();
        let since = match fabric.disconnected_since(&run.certname) {
            Some(since) => AbsenceStart::Gone(since),
            None => AbsenceStart::Start(self.started_at),
        };
        let is_returning = !self.deps.returning.is_grace_over(Instant::now());
        let Some(flying) = self.active_jobs.dispatched_mut(key) else {
            return;
        };
        let was_told = flying.absence.is_some_and(|absence| absence.is_recorded);
        if is_there {
            flying.absence = None;
            if was_told {
                self.record_presence(key, None);
            }
            return;
        }
        // After a restart, all nodes are away for a moment.
        let is_told = was_told || !(is_returning && matches!(since, AbsenceStart::Start(_)));
        flying.absence = Some(RunNodeAbsence {
            since,
            is_recorded: is_told,
        });
        if is_told && !was_told {
            self.record_presence(key, Some(since));
        }
    }

    fn record_presence(&mut self, key: RunKey, away_since: Option<AbsenceStart>) {
        let at_ms = self.deps.clock.now_ms();
        let seconds = self.silence_limit().as_secs();
        let Some(job) = self.active_jobs.jobs.get(&key.job) else {
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
        self.ledger.push(
            JobRunChange::Event(change),
            CommitFollowUp::EventWritten(key.job),
        );
    }

    /// The verdict on a run whose node was silent for too long.
    pub(super) fn silence_verdict(&mut self, key: RunKey, asked: u32) -> RunVerdict {
        let seconds = self.silence_limit().as_secs();
        let absence = self
            .active_jobs
            .dispatched_mut(key)
            .and_then(|flying| flying.absence);
        match absence {
            Some(RunNodeAbsence { since, .. }) => RunVerdict::Away { since, seconds },
            None => {
                let is_stock = self.capabilities(key).is_none();
                RunVerdict::Silent { asked, is_stock }
            }
        }
    }

    fn silence_limit(&self) -> Duration {
        let patience = &self.deps.poll_settings;
        patience.poll_interval * patience.poll_limit
    }
}
