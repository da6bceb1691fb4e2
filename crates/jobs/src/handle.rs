//! The handle that the rest of the server holds.
//!
//! [`Jobs`] is cheap to clone; behind it are the engine and the pruner. The rule: what it answers
//! is durable, and after [`Jobs::shutdown`] nothing of it runs any more.

use std::fmt;
use std::sync::Arc;

use deploy::{Blobs, Code};
use fabric::{Fabric, Inbox};
use pcp::Certname;
use pki::seal::SealKey;
use store::{JobNumber, Store, StoreError};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::JobsConfig;
use crate::defaults::{COMMANDS, LIVE_REPORTS, SCOPE_NODES};
use crate::engine::{Command, Engine, Parts};
use crate::flight::Patience;
use crate::live::LiveSubscription;
use crate::metrics::Metrics;
use crate::ping::{Ping, Pings};
use crate::prepare::Preparation;
use crate::prune::Pruner;
use crate::request::{RunTaskError, TaskRequest};

/// The job engine. Cheap to clone.
#[derive(Clone)]
pub struct Jobs {
    shared: Arc<Shared>,
}

struct Shared {
    config: JobsConfig,
    store: Store,
    fabric: Fabric,
    preparation: Preparation,
    commands: mpsc::Sender<Command>,
    pings: Arc<Pings>,
    metrics: Arc<Metrics>,
    prune: Arc<Notify>,
    /// Set when the engine ended without being told to.
    lost: watch::Receiver<Option<EngineLost>>,
    stopped: CancellationToken,
    tasks: TaskTracker,
}

/// Why a job was not stopped.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// There is no such job.
    #[error("unknown job {0}")]
    UnknownJob(JobNumber),
    /// The store cannot say.
    #[error("cannot read the job")]
    Store(#[from] StoreError),
    /// The server is shutting down.
    #[error("the server is shutting down; stop the job when it is back")]
    ShuttingDown,
}

/// Why the engine ended without being told to.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EngineLost {
    /// The store is lost to it.
    #[error("the store takes nothing any more")]
    Store(#[from] StoreError),
    /// A bug.
    #[error("the job engine broke (a bug; please report it): {0}")]
    Broken(String),
    /// The fabric that it is connected to is gone.
    #[error("the messages between brokers and the job engine came to an end")]
    Fabric,
}

// === impl Jobs ===

impl Jobs {
    /// Starts the engine and takes up the jobs that were going on before.
    pub async fn start(
        config: JobsConfig,
        store: Store,
        fabric: Fabric,
        inbox: Inbox,
        code: Arc<dyn Code>,
        blobs: Blobs,
        seal: SealKey,
    ) -> Result<Self, StoreError> {
        let (commands, queue) = mpsc::channel(COMMANDS);
        let (reports, taken) = mpsc::channel(LIVE_REPORTS);
        let stopped = CancellationToken::new();
        let pings = Arc::<Pings>::default();
        let metrics = Arc::<Metrics>::default();
        let mut engine = Engine::new(Parts {
            store: store.clone(),
            fabric: fabric.clone(),
            clock: Arc::clone(&config.clock),
            pings: Arc::clone(&pings),
            metrics: Arc::clone(&metrics),
            patience: Patience {
                poll_interval: config.poll_interval,
                poll_limit: config.poll_limit,
                cancel_grace: config.cancel_grace,
            },
            task_concurrency: config.task_concurrency,
            reconnect_grace: config.reconnect_grace,
            tick: config.tick,
            reports,
            stopped: stopped.clone(),
        });
        engine.recover(&seal).await?;
        let tasks = TaskTracker::new();
        let (lost_sender, lost) = watch::channel(None);
        let ending = stopped.clone();
        let working = tasks.spawn(engine.run(queue, taken, inbox));
        tasks.spawn(async move {
            let ended = working.await;
            let reason = why_lost(ended, ending.is_cancelled());
            if let Some(reason) = &reason {
                tracing::error!(%reason, "the job engine has ended by itself");
            }
            // Nobody is answered from now on.
            ending.cancel();
            lost_sender.send_replace(reason);
        });
        let prune = Arc::<Notify>::default();
        if let Some(after) = config.prune_after {
            let pruner = Pruner {
                store: store.clone(),
                clock: Arc::clone(&config.clock),
                after,
                every: config.prune_every,
                nudge: Arc::clone(&prune),
                stopped: stopped.clone(),
            };
            tasks.spawn(pruner.run());
        }
        tasks.close();
        let preparation = Preparation {
            code,
            blobs,
            seal,
            clock: Arc::clone(&config.clock),
            run_timeout: config.run_timeout,
        };
        let shared = Shared {
            config,
            store,
            fabric,
            preparation,
            commands,
            pings,
            metrics,
            prune,
            lost,
            stopped,
            tasks,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Runs a task. The job is durable when its number is returned; once handed over it is run
    /// even if the caller goes away.
    pub async fn run_task(&self, request: TaskRequest) -> Result<JobNumber, RunTaskError> {
        let task = Box::new(self.shared.preparation.prepare(request).await?);
        let (reply, answer) = oneshot::channel();
        self.command(Command::Run { task, reply })
            .await
            .ok_or(RunTaskError::ShuttingDown)?;
        Ok(answer.await.map_err(|_| RunTaskError::ShuttingDown)??)
    }

    /// Stops a job: nothing new starts; by force, what runs is told to end. Returns when that is
    /// durable. A job that is over, or stopping already, is left as it is.
    pub async fn stop(&self, job: JobNumber, force: bool) -> Result<(), StopError> {
        let (reply, answer) = oneshot::channel();
        self.command(Command::Stop { job, force, reply })
            .await
            .ok_or(StopError::ShuttingDown)?;
        let active = answer.await.map_err(|_| StopError::ShuttingDown)?;
        if !active && self.shared.store.job(job).await?.is_none() {
            return Err(StopError::UnknownJob(job));
        }
        Ok(())
    }

    /// Asks nodes for a sign of life through the broker; results in the order asked.
    pub async fn ping(&self, nodes: &[Certname]) -> Vec<Ping> {
        let Shared {
            fabric,
            config,
            pings,
            ..
        } = &*self.shared;
        let nodes = &nodes[..nodes.len().min(SCOPE_NODES)];
        pings
            .all(fabric, &*config.clock, nodes, config.ping_timeout)
            .await
    }

    /// Follows a job from its first event; its live output from now on.
    pub async fn live(&self, job: JobNumber) -> LiveSubscription {
        self.live_from(job, 0).await
    }

    /// Follows a job from the event `from_event` (inclusive); its live output from now on.
    pub async fn live_from(&self, job: JobNumber, from_event: i64) -> LiveSubscription {
        let (reply, answer) = oneshot::channel();
        let feed = match self.command(Command::Watch { job, reply }).await {
            Some(()) => answer.await.ok().flatten(),
            None => None,
        };
        LiveSubscription::new(self.shared.store.clone(), job, from_event, feed)
    }

    /// Counters and gauges.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.shared.metrics
    }

    /// Looks for old jobs to delete now.
    pub fn prune_soon(&self) {
        self.shared.prune.notify_one();
    }

    /// Returns when the engine has ended without being told to, with the reason: its store takes
    /// nothing any more (it was closed, or another server took the database over), or it broke.
    /// Nothing more can be done then but to end the process: a new one takes the jobs up again.
    pub async fn lost(&self) -> EngineLost {
        let mut lost = self.shared.lost.clone();
        let error = match lost.wait_for(Option::is_some).await {
            Ok(error) => error.clone(),
            // It ended in order.
            Err(_) => None,
        };
        match error {
            Some(error) => error,
            None => std::future::pending().await,
        }
    }

    /// Ends the engine: what is decided is written, what is marked is sent, nothing new starts.
    /// Runs in flight go on; the next start asks about them.
    pub async fn shutdown(&self) {
        self.shared.stopped.cancel();
        self.shared.tasks.wait().await;
    }

    async fn command(&self, command: Command) -> Option<()> {
        tokio::select! {
            sent = self.shared.commands.send(command) => sent.ok(),
            () = self.shared.stopped.cancelled() => None,
        }
    }
}

/// `told`: somebody had told the engine to end.
fn why_lost(ended: Result<Option<StoreError>, JoinError>, told: bool) -> Option<EngineLost> {
    match ended {
        Ok(Some(error)) => Some(EngineLost::Store(error)),
        Ok(None) if told => None,
        Ok(None) => Some(EngineLost::Fabric),
        Err(error) if error.is_panic() => Some(EngineLost::Broken(error.to_string())),
        // The runtime ends.
        Err(_) => None,
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // A handle that was dropped without shutdown: the tasks end by themselves soon.
        self.stopped.cancel();
    }
}

impl fmt::Debug for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jobs")
            .field("config", &self.shared.config)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_engine_that_ends_untold_is_lost_whatever_the_reason() {
        assert!(why_lost(Ok(None), true).is_none(), "as it was told to");
        assert!(matches!(
            why_lost(Ok(None), false),
            Some(EngineLost::Fabric)
        ));
        let store = why_lost(Ok(Some(StoreError::Closed)), false);
        assert!(matches!(store, Some(EngineLost::Store(StoreError::Closed))));
        let panicked = tokio::spawn(async { panic!("index out of bounds") }).await;
        let Some(EngineLost::Broken(words)) = why_lost(panicked, false) else {
            panic!("a broken engine is lost");
        };
        assert!(words.contains("index out of bounds"), "{words}");
    }
}
