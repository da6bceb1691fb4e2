//! The state that all tasks of an engine share: [`ActionEngineState`].

use std::sync::Arc;
use std::time::Instant;

use pcp::PcpUri;
use pxp::PxpMessageBody;
use serde_json::Value;
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::config::EngineConfig;
use super::live_output::LiveOutputs;
use super::outcome_delivery::OutcomeDelivery;
use super::transactions::ActiveTransactions;
use crate::cache::TaskCache;
use crate::leases::NodeLeases;
use crate::modules::{AgentEnvironment, ExternalModules};
use crate::outbox::{NotSent, PxpOutbox};
use crate::spool::Spool;

/// State shared by all tasks of an engine.
pub(super) struct ActionEngineState {
    pub(super) config: EngineConfig,
    pub(super) outbox: Arc<dyn PxpOutbox>,
    pub(super) spool: Spool,
    pub(super) leases: NodeLeases,
    pub(super) cache: TaskCache,
    pub(super) environment: AgentEnvironment,
    pub(super) external: ExternalModules,
    pub(super) transactions: Arc<ActiveTransactions>,
    /// One permit per running action.
    pub(super) places: Semaphore,
    pub(super) status_places: Semaphore,
    /// The last facts and when they were collected; held while a collection runs.
    pub(super) last_facts: Mutex<Option<(Instant, Value)>>,
    pub(super) replies: Arc<Semaphore>,
    pub(super) courier: OutcomeDelivery,
    pub(super) live: LiveOutputs,
    pub(super) tracker: TaskTracker,
    pub(super) stop: CancellationToken,
}

impl ActionEngineState {
    /// Spawns a task that ends with the engine.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tracker.spawn(async move {
            // The next engine finds interrupted work in the spool.
            stop.run_until_cancelled_owned(work).await;
        });
    }

    /// Sends a message; a failure is only logged, because nothing else can be done. Returns true on
    /// success.
    pub(super) async fn send(&self, to: &PcpUri, body: PxpMessageBody) -> bool {
        let message_type = body.message_type();
        match self.outbox.send(to, body).await {
            Ok(()) => true,
            Err(error) => not_sent(to, message_type, &error),
        }
    }
}

pub(super) fn not_sent(to: &PcpUri, message_type: &str, error: &NotSent) -> bool {
    tracing::warn!(%to, message_type, %error, "message not sent");
    false
}
