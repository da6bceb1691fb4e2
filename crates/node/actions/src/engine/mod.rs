//! Processing of PXP requests: [`ActionEngine`].
//!
//! ```text
//! connection ──handle()──▶ intake ──▶ transactions (taken? duplicate? full?)
//!                            │
//!                            ▼ one task per action
//!                  plan (modules) ▶ record (spool) ▶ provisional response
//!                            ▶ free slot ▶ files (cache) ▶ wrapper (process)
//!                            ▼
//!                  outcome ──▶ PxpOutbox   courier: again, until acknowledged
//! ```
//!
//! Invariants: [`ActionEngine::handle`] never blocks and never drops a request silently; a
//! transaction id is executed at most once, also across restarts; a wrapper outlives the engine,
//! and the next engine finds it again.

mod action_end;
mod answer;
mod config;
mod disk;
mod execute;
mod housekeeping;
mod intake;
mod leases;
mod live_output;
mod outcome;
mod outcome_delivery;
mod output_encoding;
mod recover;
mod requester;
mod resend_schedule;
mod run;
mod state;
mod status;
mod transactions;
mod watcher;

use std::sync::Arc;
use std::time::Duration;

use pcp::{MessageId, PcpUri};
use pxp::{AgentCapabilities, PxpMessageBody};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::cache::TaskCache;
use crate::defaults::{MAX_CONCURRENT_STATUS_QUERIES, MAX_PENDING_REPLIES};
use crate::leases::NodeLeases;
use crate::modules::{AgentEnvironment, ExternalModules};
use crate::outbox::PxpOutbox;
use crate::spool::{OpenSpoolError, Spool};

pub use config::EngineConfig;

use live_output::LiveOutputs;
use outcome_delivery::OutcomeDelivery;
use state::ActionEngineState;
use transactions::{ActiveTransactions, TransactionLimits};

/// Executes PXP requests. Cheap to clone; all clones share one engine.
#[derive(Clone)]
pub struct ActionEngine {
    shared: Arc<ActionEngineState>,
}

/// Reason for which the engine could not start.
#[derive(Debug, thiserror::Error)]
pub enum EngineStartError {
    /// The spool cannot be used.
    #[error(transparent)]
    Spool(#[from] OpenSpoolError),
    /// The entries of the spool cannot be read.
    #[error("cannot read the spool: {0}")]
    Recover(std::io::Error),
    /// The task cache cannot be used.
    #[error("cannot use the task cache: {0}; check `task-cache-dir` and its owner")]
    Cache(std::io::Error),
    /// `EngineConfig::wrapper` is empty.
    #[error("no wrapper program is configured")]
    NoWrapper,
    /// The kernel refuses file notifications (inotify).
    #[error("cannot watch files: {0}; check the inotify limits")]
    Watch(std::io::Error),
}

impl ActionEngine {
    /// Opens the spool, resumes actions that earlier agents left running or unsent, and starts to
    /// work. Must be called within a tokio runtime.
    pub async fn start(
        config: EngineConfig,
        outbox: Arc<dyn PxpOutbox>,
    ) -> Result<Self, EngineStartError> {
        if config.wrapper.is_empty() {
            return Err(EngineStartError::NoWrapper);
        }
        let spool = Spool::open(&config.spool_dir)?;
        let cache = TaskCache::open(&config.task_cache_dir, config.downloads.clone())
            .map_err(EngineStartError::Cache)?;
        let environment = AgentEnvironment::from_agent(&config.pass_environment);
        let transactions = ActiveTransactions::new(TransactionLimits {
            max_actions: config.max_concurrent_actions + config.max_queued_actions,
            max_bytes: config.max_queued_bytes,
        });
        let shared = Arc::new(ActionEngineState {
            external: ExternalModules::new(
                config.modules_dir.clone(),
                config.modules_config_dir.clone(),
                environment.clone(),
            ),
            places: Semaphore::new(config.max_concurrent_actions),
            status_places: Semaphore::new(MAX_CONCURRENT_STATUS_QUERIES),
            last_facts: tokio::sync::Mutex::default(),
            replies: Arc::new(Semaphore::new(MAX_PENDING_REPLIES)),
            courier: OutcomeDelivery::default(),
            live: LiveOutputs::start().map_err(EngineStartError::Watch)?,
            tracker: TaskTracker::new(),
            stop: CancellationToken::new(),
            leases: NodeLeases::below(spool.directory()),
            config,
            outbox,
            spool,
            cache,
            environment,
            transactions,
        });
        recover::recover(&shared)
            .await
            .map_err(EngineStartError::Recover)?;
        shared.spawn(outcome_delivery::run(Arc::clone(&shared)));
        shared.spawn(housekeeping::run(Arc::clone(&shared)));
        shared.spawn(live_output::run(Arc::clone(&shared)));
        Ok(Self { shared })
    }

    /// Takes a message from a broker. Never blocks.
    pub fn handle(&self, sender: PcpUri, message_id: MessageId, body: PxpMessageBody) {
        intake::handle(&self.shared, sender, message_id, body);
    }

    /// Capabilities that this agent announces beyond plain PXP.
    pub fn capabilities(&self) -> AgentCapabilities {
        AgentCapabilities {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            live_output: true,
            acknowledged_results: true,
            cancel: true,
            facts: true,
            extended_requests: true,
            file_servers: true,
            leases: cfg!(target_os = "linux"),
            spool_id: self.spool_id(),
        }
    }

    /// Id of the spool. It changes if the spool was lost or replaced, or if an entry was removed
    /// that may still be queried; `None` if the spool cannot be used now. To be read anew for each
    /// connection.
    fn spool_id(&self) -> Option<Uuid> {
        match self.shared.spool.id() {
            Ok(id) => Some(id),
            Err(error) => {
                tracing::error!(%error, "cannot name the spool; lost requests are not sent again");
                None
            }
        }
    }

    /// Stops working and waits for the engine's tasks, at most until `deadline`. Running actions go
    /// on; the next engine finds them.
    pub async fn shutdown(&self, deadline: Duration) {
        self.shared.stop.cancel();
        self.shared.tracker.close();
        if tokio::time::timeout(deadline, self.shared.tracker.wait())
            .await
            .is_err()
        {
            tracing::warn!(
                tasks = self.shared.tracker.len(),
                "some work of the engine did not end in time"
            );
        }
    }
}

impl std::fmt::Debug for ActionEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ActionEngine")
            .field("spool", &self.shared.spool)
            .finish_non_exhaustive()
    }
}
