//! Timers, and nodes that reconnect.
//!
//! A reconciler: every tick it checks all runs in flight and does the steps that are due.
//! Invariant: extra calls change nothing; and no run is given up while messages of its node wait
//! unread in the inbox.

use fabric::NodePresence;
use pcp::Certname;
use pxp::AgentCapabilities;
use store::{DetailsChange, JobRunChange};
use tokio::time::Instant;

use super::active_jobs::RunPhase;
use super::ledger::CommitFollowUp;
use super::outgoing::OutgoingMessage;
use super::state::JobEngine;
use crate::events::{self, RunMark};
use crate::in_flight::{CancelReason, SilenceWait, TickStep, UnknownReason};
use crate::keys::RunKey;
use crate::over_ssh::NodeTransport;
use crate::verdict::RunVerdict;

// === impl JobEngine ===

impl JobEngine {
    /// Checks everything that depends on time.
    pub(super) fn tick(&mut self) {
        let runs: Vec<RunKey> = self.active_jobs.in_flight().collect();
        let unheard = self.inbox_stall.take_unread(Instant::now());
        if !unheard.is_zero() {
            for key in &runs {
                if let Some(flying) = self.active_jobs.dispatched_mut(*key) {
                    flying.flight.exclude_unheard(unheard);
                }
            }
        }
        for key in &runs {
            self.update_absence(*key);
        }
        // After a time without reading, the inbox is read first.
        let heard = self.has_capacity() && unheard < self.deps.tick / 2;
        let outgoing = runs
            .into_iter()
            .filter_map(|key| self.handle_due(key, heard))
            .collect();
        self.send(outgoing);
        for key in self.awaiting_nodes.take_overdue(Instant::now()) {
            self.give_up(key, &RunVerdict::NotConnected);
        }
    }

    fn handle_due(&mut self, key: RunKey, heard: bool) -> Option<OutgoingMessage> {
        let now = Instant::now();
        let flying = self.active_jobs.dispatched_mut(key)?;
        // The outcome has arrived and is being read: no query and no limit apply.
        if flying.shaping || !flying.flight.is_due(now) {
            return None;
        }
        let run = self.active_jobs.run(key)?;
        let presence = self.presence_of(run);
        let can_cancel = presence.as_ref().is_some_and(can_cancel);
        let job = self.active_jobs.jobs.get(&key.job)?;
        let timeout = job.dispatch.timeout().as_secs();
        let patience = self.deps.poll_settings;
        let flight = &mut self.active_jobs.dispatched_mut(key)?.flight;
        let due = if heard {
            flight.tick(now, can_cancel, presence.is_some(), &patience)
        } else {
            flight.tick_unheard(now, can_cancel, &patience)?
        };
        if let Some(silence) = flight.note_silence(&patience) {
            self.write_silence(key, silence);
        }
        match due {
            TickStep::Nothing => None,
            TickStep::Retry => self.resend_request(key),
            TickStep::Query => self.build_query(key),
            TickStep::Cancel => self.build_cancel(key),
            TickStep::TimedOut => {
                self.give_up(
                    key,
                    &RunVerdict::TimedOut {
                        seconds: timeout,
                        told: false,
                    },
                );
                None
            }
            TickStep::CancelUnanswered(reason) => {
                self.give_up(key, &RunVerdict::cancel_unanswered(reason, timeout));
                None
            }
            TickStep::Silent { asked } => {
                let verdict = self.silence_verdict(key, asked);
                self.give_up_unless_claimed(key, &verdict);
                None
            }
            TickStep::UnexpectedAgent(stranger) => {
                let why = UnknownReason::OtherAgent(stranger);
                self.give_up(key, &RunVerdict::Unknown(why));
                None
            }
        }
    }

    /// Stores the time until which a silent node is waited for: after a restart the wait goes on.
    fn write_silence(&mut self, key: RunKey, silence: SilenceWait) {
        let now_ms = self.deps.clock.steady_ms();
        let silent_until_ms = match silence {
            SilenceWait::Lasts(left) => Some(now_ms.saturating_add(events::to_milliseconds(left))),
            SilenceWait::Over => None,
        };
        let Some(job) = self.active_jobs.jobs.get_mut(&key.job) else {
            return;
        };
        let number = job.number;
        let run = &mut job.runs[key.index];
        let RunPhase::Dispatched(flying) = &run.phase else {
            return;
        };
        let age = flying.flight.age(Instant::now());
        let mark = RunMark {
            spool_id: flying.flight.spool_id(),
            marked_ms: age.map(|age| now_ms.saturating_sub(events::to_milliseconds(age))),
            silent_until_ms,
        };
        let change = DetailsChange {
            job: number,
            certname: run.certname.to_string(),
            details: mark.to_details(run.via),
        };
        self.ledger.push(
            JobRunChange::Details(change),
            CommitFollowUp::EventWritten(key.job),
        );
    }

    /// Handles an error as the answer to a cancel: it is a stock agent, which cannot cancel.
    pub(super) fn handle_cancel_refused(&mut self, key: RunKey) {
        let Some(job) = self.active_jobs.jobs.get(&key.job) else {
            return;
        };
        let seconds = job.dispatch.timeout().as_secs();
        let flying = self.active_jobs.dispatched_mut(key);
        let told = false;
        let verdict = match flying.and_then(|flying| flying.flight.cancel_reason()) {
            Some(CancelReason::Timeout) => RunVerdict::TimedOut { seconds, told },
            Some(CancelReason::Stop) => RunVerdict::Stopped { told },
            None => return,
        };
        self.give_up(key, &verdict);
    }

    /// Handles a node that has connected (again): its runs are queried, and those that waited for
    /// it go on.
    pub(super) fn handle_connected(
        &mut self,
        certname: &Certname,
        capabilities: Option<&AgentCapabilities>,
    ) {
        let (now, heard) = (Instant::now(), self.has_capacity());
        self.deps.returning.remove(certname);
        let spool_id = capabilities.and_then(|capabilities| capabilities.spool_id);
        let mut outgoing = Vec::new();
        for key in self.active_jobs.runs_on_node(certname) {
            // The agent does not know runs over SSH.
            if self
                .active_jobs
                .run(key)
                .is_some_and(|run| run.via == NodeTransport::Ssh)
            {
                continue;
            }
            if let Some(flying) = self.active_jobs.dispatched_mut(key) {
                flying.flight.record_agent(spool_id);
                flying.flight.record_reconnect(now);
            }
            outgoing.extend(self.handle_due(key, heard));
            outgoing.extend(self.build_credit(key));
        }
        self.send(outgoing);
        self.leases.wake(certname);
        for key in self.awaiting_nodes.take_by_node(certname) {
            if let Some(job) = self.active_jobs.jobs.get_mut(&key.job) {
                job.waiting.push_back(key.index);
                self.scheduler.add_waiting(key.job, 1);
            }
        }
    }

    /// True if the node was connected before the restart, has not come since, and may still come. A job that is
    /// made now waits for it as for one that went away before its turn.
    pub(super) fn is_returning(&self, certname: &Certname) -> bool {
        self.deps.returning.contains(certname, Instant::now())
    }

    /// Changes of presence were missed: every node of interest counts as just connected.
    pub(super) fn refresh_all_nodes(&mut self) {
        let mut nodes: Vec<Certname> = self.awaiting_nodes.nodes().cloned().collect();
        let in_flight = self
            .active_jobs
            .in_flight()
            .filter_map(|key| self.active_jobs.run(key));
        nodes.extend(in_flight.map(|run| run.certname.clone()));
        nodes.sort_unstable();
        nodes.dedup();
        for certname in nodes {
            if let Some(presence) = self.deps.fabric.presence(&certname) {
                self.handle_connected(&certname, presence.capabilities.as_deref());
            }
        }
        let fabric = &self.deps.fabric;
        let returning = &self.deps.returning;
        returning.retain(|certname| fabric.presence(certname).is_none());
    }
}

/// True if it makes sense to tell the agent to end an action. An agent that announced nothing may
/// be a `tutti-agent` behind a stock pcp-broker; a pxp-agent refuses the request.
pub(super) fn can_cancel(presence: &NodePresence) -> bool {
    let capabilities = presence.capabilities.as_ref();
    capabilities.is_none_or(|capabilities| capabilities.cancel)
}
