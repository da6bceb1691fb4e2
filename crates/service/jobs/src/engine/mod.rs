//! The engine: one actor that owns every job that is not over.
//!
//! [`Engine`] is woken by commands, by messages from nodes, by nodes that connect and disconnect,
//! by time and by its own finished work (commits, insertions, sends). It never waits for any of
//! them in line: store and fabric are called in tasks that it owns. Invariants:
//! - a request leaves only after the commit that marks its run as running;
//! - an outcome is acknowledged only after the commit that records it;
//! - one commit is under way at a time, so events stand in the order in which they were decided.

mod absence;
mod book;
mod commit;
mod create;
mod deliver;
mod doubt;
mod draft;
mod errors;
mod fall_back;
mod hearing;
mod intake;
mod late;
mod late_outcomes;
mod ledger;
mod outgoing;
mod output;
mod parked;
mod recover;
mod refused;
mod report;
mod rollouts;
mod settle;
mod state;
mod stop;
mod timers;
mod traces;
mod ways;

use fabric::{Inbox, PresenceChange};
use store::{JobNumber, StoreError};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior};

pub(crate) use self::draft::{NotRun, Prepared, Target};
pub(crate) use self::state::{Engine, Parts};
use crate::defaults::{
    INBOX_TURN, INSERTIONS, LATE_LOOKUPS, PENDING_BYTES, PENDING_CHANGES, SEND_BATCHES, SHAPING,
    SHUTDOWN_GRACE,
};
use crate::live::{Feed, Taken};
use crate::metrics;

/// A command from the handle to the engine.
pub(crate) enum Command {
    Run {
        job: Box<Prepared>,
        reply: oneshot::Sender<Result<JobNumber, NotRun>>,
    },
    /// The reply comes when the stop is durable; `false`: the job is over (or never was).
    Stop {
        job: JobNumber,
        force: bool,
        reply: oneshot::Sender<bool>,
    },
    /// The feed for a reader; `None`: the job is over (or never was).
    Watch {
        job: JobNumber,
        reply: oneshot::Sender<Option<Feed>>,
    },
    /// The commits that touch the job; `None`: it is over (or never was).
    Follow {
        job: JobNumber,
        reply: oneshot::Sender<Option<watch::Receiver<u64>>>,
    },
}

// === impl Engine ===

impl Engine {
    /// Runs until the shutdown request, then waits for the commit under way; or until the store is
    /// lost, and returns the reason.
    pub(crate) async fn run(
        mut self,
        mut commands: mpsc::Receiver<Command>,
        mut reports: mpsc::Receiver<Taken>,
        mut inbox: Inbox,
    ) -> Option<StoreError> {
        let mut presence = self.parts.fabric.watch();
        self.recovering_until = Instant::now() + self.parts.reconnect_grace;
        let returning_until = Instant::now() + self.parts.away_grace;
        self.parts.returning.expect_until(returning_until);
        self.all_may_have_changed();
        let mut tick = tokio::time::interval(self.parts.tick);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while self.lost.is_none() {
            self.pump();
            self.flush();
            self.gauge();
            let ticking = !self.book.nothing_flies() || !self.parked.is_empty();
            let room = self.has_room();
            let pause_end = self.pauses.first().map(|(until, _)| *until);
            if ticking {
                self.hearing.turn(Instant::now(), room);
            } else {
                self.hearing.forget();
            }
            tokio::select! {
                // Finished work first: it frees capacity for the rest.
                biased;
                () = self.parts.stopped.cancelled() => break,
                Some(done) = self.committing.join_next() => self.committed(finished(done)),
                Some(done) = self.inserting.join_next() => self.inserted(finished(done)),
                Some(done) = self.withdrawing.join_next() => self.withdrawn(finished(done)),
                Some(done) = self.resolving.join_next() => self.resolved(finished(done)),
                Some(done) = self.sending.join_next() => self.delivered(finished(done)),
                Some(done) = self.shaping.join_next() => self.shaped(finished(done)),
                Some(done) = self.reporting.join_next() => self.shaped(finished(done)),
                Some(done) = self.looking.join_next() => self.looked(finished(done)),
                _ = tick.tick(), if ticking => self.tick(),
                () = at(pause_end) => self.end_pauses(),
                change = presence.next() => if !self.presence(change) { break },
                Some(taken) = reports.recv() => self.taken(&taken),
                Some(command) = commands.recv(), if self.inserting.len() < INSERTIONS => {
                    self.command(command);
                }
                inbound = inbox.recv(), if room => {
                    let Some(inbound) = inbound else { break };
                    self.intake(inbound);
                    self.more(&mut inbox);
                }
            }
        }
        self.drain().await
    }

    /// Takes further messages from the inbox, up to a turn's worth: neighbours share a commit.
    fn more(&mut self, inbox: &mut Inbox) {
        for _ in 1..INBOX_TURN {
            if !self.has_room() {
                return;
            }
            let Some(inbound) = inbox.try_recv() else {
                return;
            };
            self.intake(inbound);
        }
    }

    /// True if more messages from nodes can be taken in; otherwise they wait in the inbox, which
    /// applies backpressure to the nodes.
    pub(super) fn has_room(&self) -> bool {
        self.ledger.len() < PENDING_CHANGES
            && self.ledger.bytes() < PENDING_BYTES
            && self.shaping.len() < SHAPING
            && self.sending.len() < SEND_BATCHES
            && self.looking.len() < LATE_LOOKUPS
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Run { job, reply } => self.create(*job, reply),
            Command::Stop { job, force, reply } => self.stop(job, force, reply),
            Command::Watch { job, reply } => {
                // A caller that is gone needs no feed.
                let _ = reply.send(self.watch(job));
            }
            Command::Follow { job, reply } => {
                let followed = self.book.by_number(job);
                // As above.
                let _ = reply.send(followed.map(|(_, job)| job.commits.subscribe()));
            }
        }
    }

    /// Handles a change of presence. `false`: the fabric is gone.
    fn presence(&mut self, change: Result<Option<PresenceChange>, u64>) -> bool {
        match change {
            Ok(Some(PresenceChange::Connected(certname, presence))) => {
                self.connected(&certname, presence.capabilities.as_deref());
            }
            // The next tick checks its runs.
            Ok(Some(PresenceChange::Disconnected(_))) => {}
            Ok(None) => return false,
            Err(missed) => {
                tracing::info!(
                    missed,
                    "presence changes came too fast; all nodes are looked at"
                );
                self.all_may_have_changed();
            }
        }
        true
    }

    /// Ends the work: decided changes are still written, and requests of marked runs are sent, for
    /// a bounded time. Nothing new is started.
    async fn drain(mut self) -> Option<StoreError> {
        let deadline = Instant::now() + SHUTDOWN_GRACE;
        while self.lost.is_none() {
            self.flush();
            if self.committing.is_empty()
                && self.inserting.is_empty()
                && self.withdrawing.is_empty()
                && self.sending.is_empty()
            {
                break;
            }
            tokio::select! {
                Some(done) = self.sending.join_next() => self.delivered(finished(done)),
                Some(done) = self.committing.join_next() => self.committed(finished(done)),
                Some(done) = self.inserting.join_next() => self.inserted(finished(done)),
                // The next start looks up the withdrawn jobs in the store.
                Some(done) = self.withdrawing.join_next() => drop(finished(done)),
                () = tokio::time::sleep_until(deadline) => {
                    let changes = self.ledger.len();
                    tracing::warn!(changes, "ended before everything was written; agents are asked \
                        at the next start");
                    break;
                }
            }
        }
        self.lost
    }

    fn gauge(&self) {
        metrics::set(&self.parts.metrics.in_flight, self.scheduler.in_flight());
        metrics::set(&self.parts.metrics.queued, self.scheduler.waiting());
        metrics::set(&self.parts.metrics.pending_changes, self.ledger.len());
    }
}

/// Returns at this time; `None`: never.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// The result of a task of the engine's own; such a task panics only by a bug, which is passed on.
fn finished<T>(joined: Result<T, tokio::task::JoinError>) -> T {
    match joined {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => unreachable!("the engine aborts its tasks only when it ends itself"),
        },
    }
}
