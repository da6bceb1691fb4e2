//! The engine: one actor that owns every job that is not over.
//!
//! [`JobEngine`] is woken by commands, by messages from nodes, by nodes that connect and disconnect,
//! by time and by its own finished work (commits, insertions, sends). It never waits for any of
//! them in line: store and fabric are called in tasks that it owns. Invariants:
//! - a request leaves only after the commit that marks its run as running;
//! - an outcome is acknowledged only after the commit that records it;
//! - one commit is under way at a time, so events stand in the order in which they were decided.

mod absence;
mod active_jobs;
mod awaiting_nodes;
mod commit;
mod create;
mod deliver;
mod dispatch;
mod draft;
mod errors;
mod fall_back;
mod in_doubt;
mod inbox_stall;
mod intake;
mod late_outcomes;
mod leases;
mod ledger;
mod outgoing;
mod output;
mod puppet_outcomes;
mod recover;
mod refused_changes;
mod rollouts;
mod run_orders;
mod settle;
mod state;
mod stop;
mod timers;
mod traces;
mod transports;
mod unmatched_outcomes;

use fabric::{EngineInbox, PresenceChange};
use store::{JobNumber, StoreError};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior};

pub(crate) use self::dispatch::{JobDispatch, to_stored_timeout};
pub(crate) use self::draft::{JobTarget, PreparedJob};
pub(crate) use self::state::{EngineServices, JobEngine};
use crate::defaults::{
    INBOX_TURN, INSERTIONS, LATE_LOOKUPS, PENDING_BYTES, PENDING_CHANGES, SEND_BATCHES, SHAPING,
    SHUTDOWN_GRACE,
};
use crate::live::{LiveFeed, OutputTaken};
use crate::metrics;
use crate::submit::JobSubmitError;

/// A command from the handle to the engine.
pub(crate) enum EngineCommand {
    Run {
        job: Box<PreparedJob>,
        reply: oneshot::Sender<Result<JobNumber, JobSubmitError>>,
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
        reply: oneshot::Sender<Option<LiveFeed>>,
    },
    /// The commits that touch the job; `None`: it is over (or never was).
    Follow {
        job: JobNumber,
        reply: oneshot::Sender<Option<watch::Receiver<u64>>>,
    },
}

// === impl JobEngine ===

impl JobEngine {
    /// Runs until the shutdown request, then waits for the commit under way; or until the store is
    /// lost, and returns the reason.
    pub(crate) async fn run(
        mut self,
        mut commands: mpsc::Receiver<EngineCommand>,
        mut reports: mpsc::Receiver<OutputTaken>,
        mut inbox: EngineInbox,
    ) -> Option<StoreError> {
        let mut presence = self.deps.fabric.watch_presence();
        self.recovering_until = Instant::now() + self.deps.reconnect_grace;
        let returning_until = Instant::now() + self.deps.away_grace;
        self.deps.returning.expect_until(returning_until);
        self.refresh_all_nodes();
        let mut tick = tokio::time::interval(self.deps.tick);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while self.lost.is_none() {
            self.start_waiting_runs();
            self.flush();
            self.update_gauges();
            let ticking = !self.active_jobs.is_idle() || !self.awaiting_nodes.is_empty();
            let room = self.has_capacity();
            let timed_start = self.timed_starts.first().map(|(until, _)| *until);
            if ticking {
                self.inbox_stall.set_reading(Instant::now(), room);
            } else {
                self.inbox_stall.reset();
            }
            tokio::select! {
                // Finished work first: it frees capacity for the rest.
                biased;
                () = self.deps.stopped.cancelled() => break,
                Some(done) = self.committing.join_next() => self.handle_committed(unwrap_task_result(done)),
                Some(done) = self.inserting.join_next() => self.handle_inserted(unwrap_task_result(done)),
                Some(done) = self.withdrawing.join_next() => self.look_up_in_doubt(unwrap_task_result(done)),
                Some(done) = self.resolving.join_next() => self.handle_in_doubt_lookup(unwrap_task_result(done)),
                Some(done) = self.sending.join_next() => self.handle_deliveries(unwrap_task_result(done)),
                Some(done) = self.shaping.join_next() => self.record_shaped(unwrap_task_result(done)),
                Some(done) = self.reporting.join_next() => self.record_shaped(unwrap_task_result(done)),
                Some(done) = self.lookups.join_next() => self.handle_lookup(unwrap_task_result(done)),
                Some(done) = self.leases.next_step() => self.handle_lease_step(unwrap_task_result(done)),
                _ = tick.tick(), if ticking => self.tick(),
                () = wait_until_time(timed_start) => self.start_timed(),
                change = presence.next() => if !self.handle_presence(change) { break },
                Some(taken) = reports.recv() => self.handle_taken(&taken),
                Some(command) = commands.recv(), if self.inserting.len() < INSERTIONS => {
                    self.handle_command(command);
                }
                inbound = inbox.recv(), if room => {
                    let Some(inbound) = inbound else { break };
                    self.handle_inbound(inbound);
                    self.take_more_messages(&mut inbox);
                }
            }
        }
        self.drain().await
    }

    /// Takes further messages from the inbox, up to a turn's worth: neighbours share a commit.
    fn take_more_messages(&mut self, inbox: &mut EngineInbox) {
        for _ in 1..INBOX_TURN {
            if !self.has_capacity() {
                return;
            }
            let Some(inbound) = inbox.try_recv() else {
                return;
            };
            self.handle_inbound(inbound);
        }
    }

    /// True if more messages from nodes can be taken in; otherwise they wait in the inbox, which
    /// applies backpressure to the nodes.
    pub(super) fn has_capacity(&self) -> bool {
        self.ledger.len() < PENDING_CHANGES
            && self.ledger.bytes() < PENDING_BYTES
            && self.shaping.len() < SHAPING
            && self.sending.len() < SEND_BATCHES
            && self.lookups.len() < LATE_LOOKUPS
    }

    fn handle_command(&mut self, command: EngineCommand) {
        match command {
            EngineCommand::Run { job, reply } => self.create(*job, reply),
            EngineCommand::Stop { job, force, reply } => self.stop(job, force, reply),
            EngineCommand::Watch { job, reply } => {
                // A caller that is gone needs no feed.
                let _ = reply.send(self.watch(job));
            }
            EngineCommand::Follow { job, reply } => {
                let followed = self.active_jobs.by_number(job);
                // As above.
                let _ = reply.send(followed.map(|(_, job)| job.commits.subscribe()));
            }
        }
    }

    /// Handles a change of presence. `false`: the fabric is gone.
    fn handle_presence(&mut self, change: Result<Option<PresenceChange>, u64>) -> bool {
        match change {
            Ok(Some(PresenceChange::Connected(certname, presence))) => {
                self.handle_connected(&certname, presence.capabilities.as_deref());
            }
            // The next tick checks its runs.
            Ok(Some(PresenceChange::Disconnected(_))) => {}
            Ok(None) => return false,
            Err(missed) => {
                tracing::info!(
                    missed,
                    "presence changes came too fast; all nodes are looked at"
                );
                self.refresh_all_nodes();
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
                Some(done) = self.sending.join_next() => self.handle_deliveries(unwrap_task_result(done)),
                Some(done) = self.committing.join_next() => self.handle_committed(unwrap_task_result(done)),
                Some(done) = self.inserting.join_next() => self.handle_inserted(unwrap_task_result(done)),
                // The next start looks up the withdrawn jobs in the store.
                Some(done) = self.withdrawing.join_next() => drop(unwrap_task_result(done)),
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

    fn update_gauges(&self) {
        metrics::set_gauge(&self.deps.metrics.in_flight, self.scheduler.in_flight());
        metrics::set_gauge(&self.deps.metrics.queued, self.scheduler.waiting());
        metrics::set_gauge(&self.deps.metrics.pending_changes, self.ledger.len());
    }
}

/// Returns at this time; `None`: never.
async fn wait_until_time(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// The result of a task of the engine's own; such a task panics only by a bug, which is passed on.
fn unwrap_task_result<T>(joined: Result<T, tokio::task::JoinError>) -> T {
    match joined {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => unreachable!("the engine aborts its tasks only when it ends itself"),
        },
    }
}
