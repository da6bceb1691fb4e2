//! Timers, and nodes that reconnect.
//!
//! A reconciler: every tick it checks all runs in flight and does the steps that are due.
//! Invariant: extra calls change nothing; and no run is given up while messages of its node wait
//! unread in the inbox.

use fabric::Presence;
use pcp::Certname;
use pxp::Capabilities;
use store::{Change, DetailsChange};
use tokio::time::Instant;

use super::book::Phase;
use super::ledger::After;
use super::outgoing::Outgoing;
use super::state::Engine;
use crate::events::{self, RunMark};
use crate::flight::{CancelReason, Due, Silence, WhyUnknown};
use crate::keys::RunKey;
use crate::over_ssh::Via;
use crate::verdict::Verdict;

// === impl Engine ===

impl Engine {
    /// Checks everything that depends on time.
    pub(super) fn tick(&mut self) {
        let runs: Vec<RunKey> = self.book.in_flight().collect();
        let unheard = self.hearing.look(Instant::now());
        if !unheard.is_zero() {
            for key in &runs {
                if let Some(flying) = self.book.flying(*key) {
                    flying.flight.unheard(unheard);
                }
            }
        }
        for key in &runs {
            self.look_for_absence(*key);
        }
        // After a time without reading, the inbox is read first.
        let heard = self.has_room() && unheard < self.parts.tick / 2;
        let outgoing = runs
            .into_iter()
            .filter_map(|key| self.due(key, heard))
            .collect();
        self.send(outgoing);
        for key in self.parked.overdue(Instant::now()) {
            self.give_up(key, &Verdict::NotConnected);
        }
    }

    fn due(&mut self, key: RunKey, heard: bool) -> Option<Outgoing> {
        let now = Instant::now();
        let flying = self.book.flying(key)?;
        // The outcome has arrived and is being read: no query and no limit apply.
        if flying.shaping || !flying.flight.is_due(now) {
            return None;
        }
        let run = self.book.run(key)?;
        let presence = self.presence_of(run);
        let can_cancel = presence.as_ref().is_some_and(may_cancel);
        let timeout = self.book.jobs.get(&key.job)?.timeout.as_secs();
        let patience = self.parts.patience;
        let flight = &mut self.book.flying(key)?.flight;
        let due = if heard {
            flight.tick(now, can_cancel, presence.is_some(), &patience)
        } else {
            flight.tick_unheard(now, can_cancel, &patience)?
        };
        if let Some(silence) = flight.note_silence(&patience) {
            self.write_silence(key, silence);
        }
        match due {
            Due::Nothing => None,
            Due::Retry => self.request_again(key),
            Due::Ask => self.query(key),
            Due::Cancel => self.cancel(key),
            Due::TimedOut => {
                self.give_up(
                    key,
                    &Verdict::TimedOut {
                        seconds: timeout,
                        told: false,
                    },
                );
                None
            }
            Due::CancelUnanswered(reason) => {
                self.give_up(key, &Verdict::cancel_unanswered(reason, timeout));
                None
            }
            Due::Silent { asked } => {
                let verdict = self.verdict_of_silence(key, asked);
                self.give_up_unless_claimed(key, &verdict);
                None
            }
            Due::Estranged(stranger) => {
                let why = WhyUnknown::OtherAgent(stranger);
                self.give_up(key, &Verdict::Unknown(why));
                None
            }
        }
    }

    /// Stores the time until which a silent node is waited for: after a restart the wait goes on.
    fn write_silence(&mut self, key: RunKey, silence: Silence) {
        let now_ms = self.parts.clock.steady_ms();
        let silent_until_ms = match silence {
            Silence::Lasts(left) => Some(now_ms.saturating_add(events::milliseconds(left))),
            Silence::Over => None,
        };
        let Some(job) = self.book.jobs.get_mut(&key.job) else {
            return;
        };
        let number = job.number;
        let run = &mut job.runs[key.index];
        let Phase::Flying(flying) = &run.phase else {
            return;
        };
        let age = flying.flight.age(Instant::now());
        let mark = RunMark {
            spool_id: flying.flight.spool_id(),
            marked_ms: age.map(|age| now_ms.saturating_sub(events::milliseconds(age))),
            silent_until_ms,
        };
        let change = DetailsChange {
            job: number,
            certname: run.certname.to_string(),
            details: mark.to_details(run.via),
        };
        self.ledger
            .push(Change::Details(change), After::Told(key.job));
    }

    /// Handles an error as the answer to a cancel: it is a stock agent, which cannot cancel.
    pub(super) fn cannot_cancel(&mut self, key: RunKey) {
        let Some(job) = self.book.jobs.get(&key.job) else {
            return;
        };
        let seconds = job.timeout.as_secs();
        let flying = self.book.flying(key);
        let told = false;
        let verdict = match flying.and_then(|flying| flying.flight.cancelling()) {
            Some(CancelReason::Timeout) => Verdict::TimedOut { seconds, told },
            Some(CancelReason::Stop) => Verdict::Stopped { told },
            None => return,
        };
        self.give_up(key, &verdict);
    }

    /// Handles a node that has connected (again): its runs are queried, and those that waited for
    /// it go on.
    pub(super) fn connected(&mut self, certname: &Certname, capabilities: Option<&Capabilities>) {
        let (now, heard) = (Instant::now(), self.has_room());
        self.parts.returning.remove(certname);
        let spool_id = capabilities.and_then(|capabilities| capabilities.spool_id);
        let mut outgoing = Vec::new();
        for key in self.book.on_node(certname) {
            // The agent does not know runs over SSH.
            if self.book.run(key).is_some_and(|run| run.via == Via::Ssh) {
                continue;
            }
            if let Some(flying) = self.book.flying(key) {
                flying.flight.met(spool_id);
                flying.flight.reconnected(now);
            }
            outgoing.extend(self.due(key, heard));
            outgoing.extend(self.credit(key));
        }
        self.send(outgoing);
        for key in self.parked.of_node(certname) {
            if let Some(job) = self.book.jobs.get_mut(&key.job) {
                job.waiting.push_back(key.index);
                self.scheduler.add_waiting(key.job, 1);
            }
        }
    }

    /// True if the node was connected before the restart, has not come since, and may still come. A job that is
    /// made now waits for it as for one that went away before its turn.
    pub(super) fn is_returning(&self, certname: &Certname) -> bool {
        self.parts.returning.contains(certname, Instant::now())
    }

    /// Changes of presence were missed: every node of interest counts as just connected.
    pub(super) fn all_may_have_changed(&mut self) {
        let mut nodes: Vec<Certname> = self.parked.nodes().cloned().collect();
        let in_flight = self.book.in_flight().filter_map(|key| self.book.run(key));
        nodes.extend(in_flight.map(|run| run.certname.clone()));
        nodes.sort_unstable();
        nodes.dedup();
        for certname in nodes {
            if let Some(presence) = self.parts.fabric.presence(&certname) {
                self.connected(&certname, presence.capabilities.as_deref());
            }
        }
        let fabric = &self.parts.fabric;
        let returning = &self.parts.returning;
        returning.retain(|certname| fabric.presence(certname).is_none());
    }
}

/// True if it makes sense to tell the agent to end an action. An agent that announced nothing may
/// be a `tutti-agent` behind a stock pcp-broker; a pxp-agent refuses the request.
pub(super) fn may_cancel(presence: &Presence) -> bool {
    let capabilities = presence.capabilities.as_ref();
    capabilities.is_none_or(|capabilities| capabilities.cancel)
}
