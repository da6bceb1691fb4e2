//! The engine: one actor that owns every job that is not over.
//!
//! [`Engine`] is woken by commands, by messages from nodes, by nodes that come and go, by time and
//! by its own finished work (commits, insertions, sends). It never waits for any of them in line:
//! store and fabric are called in tasks that it owns. The rules:
//! - a request leaves only after the commit that marks its run as running;
//! - an outcome is acknowledged only after the commit that records it;
//! - one commit is under way at a time, so events stand in the order in which they were decided.

mod book;
mod commit;
mod create;
mod deliver;
mod intake;
mod late;
mod output;
mod recover;
mod settle;
mod stop;
mod timers;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use fabric::{Fabric, Inbox, PresenceChange};
use pcp::Certname;
use store::{JobNumber, Store, StoreError};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use self::book::Book;
pub(crate) use self::book::{JobKey, RunKey};
use self::commit::{Committed, Ledger};
use self::create::Inserted;
pub(crate) use self::create::NewTask;
use self::deliver::HandedOver;
use self::intake::ShapedOutcome;
use self::late::{LateOutcomes, Looked};
pub(crate) use self::recover::Dispatch;
use crate::clock::Clock;
use crate::defaults::{
    INBOX_TURN, INSERTIONS, LATE_LOOKUPS, PENDING_BYTES, PENDING_CHANGES, SEND_BATCHES, SHAPING,
};
use crate::flight::Patience;
use crate::live::{Feed, Taken};
use crate::metrics::{self, Metrics};
use crate::ping::Pings;
use crate::scheduler::Scheduler;

/// What the handle asks of the engine.
pub(crate) enum Command {
    Run {
        task: Box<NewTask>,
        reply: oneshot::Sender<Result<JobNumber, StoreError>>,
    },
    /// The reply comes when the stop is durable; `false`: the job is over (or never was).
    Stop {
        job: JobNumber,
        force: bool,
        reply: oneshot::Sender<bool>,
    },
    /// `None`: the job is over (or never was).
    Watch {
        job: JobNumber,
        reply: oneshot::Sender<Option<Feed>>,
    },
    Taken(Taken),
}

/// What the engine works with.
pub(crate) struct Parts {
    pub(crate) store: Store,
    pub(crate) fabric: Fabric,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) pings: Arc<Pings>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) patience: Patience,
    pub(crate) task_concurrency: usize,
    pub(crate) reconnect_grace: Duration,
    pub(crate) tick: Duration,
    /// For the feeds of subscribers.
    pub(crate) commands: mpsc::Sender<Command>,
    pub(crate) stopped: CancellationToken,
}

pub(crate) struct Engine {
    parts: Parts,
    book: Book,
    scheduler: Scheduler<JobKey>,
    ledger: Ledger,
    late: LateOutcomes,
    next_key: u64,
    /// Runs from before the start whose node is not back yet.
    parked: HashMap<Certname, Vec<RunKey>>,
    /// Until when they may stay parked.
    parked_until: Instant,
    inserting: JoinSet<Inserted>,
    committing: JoinSet<Committed>,
    sending: JoinSet<Vec<HandedOver>>,
    shaping: JoinSet<ShapedOutcome>,
    looking: JoinSet<Looked>,
}

// === impl Engine ===

impl Engine {
    pub(crate) fn new(parts: Parts) -> Self {
        let scheduler = Scheduler::new(parts.task_concurrency);
        let parked_until = Instant::now() + parts.reconnect_grace;
        Self {
            parts,
            book: Book::default(),
            scheduler,
            ledger: Ledger::default(),
            late: LateOutcomes::default(),
            next_key: 0,
            parked: HashMap::new(),
            parked_until,
            inserting: JoinSet::new(),
            committing: JoinSet::new(),
            sending: JoinSet::new(),
            shaping: JoinSet::new(),
            looking: JoinSet::new(),
        }
    }

    /// Works until told to stop; then waits for the commit under way.
    pub(crate) async fn run(mut self, mut commands: mpsc::Receiver<Command>, mut inbox: Inbox) {
        let mut presence = self.parts.fabric.watch();
        self.all_may_have_changed();
        let mut tick = tokio::time::interval(self.parts.tick);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.pump();
            self.flush();
            self.gauge();
            let ticking = !self.book.nothing_flies() || !self.parked.is_empty();
            let room = self.has_room();
            tokio::select! {
                // Finished work first: it makes room for what follows.
                biased;
                () = self.parts.stopped.cancelled() => break,
                Some(done) = self.committing.join_next() => self.committed(finished(done)),
                Some(done) = self.inserting.join_next() => self.inserted(finished(done)),
                Some(done) = self.sending.join_next() => self.delivered(finished(done)),
                Some(done) = self.shaping.join_next() => self.shaped(finished(done)),
                Some(done) = self.looking.join_next() => self.looked(finished(done)),
                _ = tick.tick(), if ticking => self.tick(),
                change = presence.next() => if !self.presence(change) { break },
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
        self.drain().await;
    }

    /// What else is in the inbox, up to a turn's worth: neighbours share a commit.
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

    /// Whether more from the nodes can be taken in; if not, it waits in the inbox, and the nodes
    /// behind it.
    fn has_room(&self) -> bool {
        self.ledger.len() < PENDING_CHANGES
            && self.ledger.bytes() < PENDING_BYTES
            && self.shaping.len() < SHAPING
            && self.sending.len() < SEND_BATCHES
            && self.looking.len() < LATE_LOOKUPS
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Run { task, reply } => self.create(*task, reply),
            Command::Stop { job, force, reply } => self.stop(job, force, reply),
            Command::Watch { job, reply } => {
                // A caller that is gone needs no feed.
                let _ = reply.send(self.watch(job));
            }
            Command::Taken(taken) => self.taken(&taken),
        }
    }

    /// `false`: the fabric is gone.
    fn presence(&mut self, change: Result<Option<PresenceChange>, u64>) -> bool {
        match change {
            Ok(Some(PresenceChange::Connected(certname, _))) => self.connected(&certname),
            // Its runs are asked about when it is back, or given up by the timers.
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

    fn gauge(&self) {
        metrics::set(&self.parts.metrics.in_flight, self.scheduler.in_flight());
        metrics::set(&self.parts.metrics.queued, self.scheduler.waiting());
        metrics::set(&self.parts.metrics.pending_changes, self.ledger.len());
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
