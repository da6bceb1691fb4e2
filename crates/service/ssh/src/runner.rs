//! Requests for nodes without an agent: [`SshRunner`] answers them as agents would.
//!
//! Invariants: a request is carried out at most once, since no record of it outlives this process
//! and none is claimed (without a spool id the engine never sends a request again); a run is
//! cancelled by its transaction id alone; and no run outlives [`SshRunner::shutdown`].

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use async_trait::async_trait;
use environments::BlobStore;
use fabric::{AgentlessNode, AgentlessNodePort, CONNECTION_KEY, Fabric, FabricSendError};
use partial_debug::partial_debug;
use pcp::{Certname, MessageId, PcpMessage};
use pxp::action::{self, ActionResult, StatusParams, StatusResult, TransactionStatus};
use pxp::{AgentCapabilities, PxpMessageBody, PxpRequest, PxpResponse, RpcError, TransactionId};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::capture::OutputBudget;
use crate::connection::{REPLACES_AGENT, SshConnection};
use crate::defaults::{CONCURRENCY, OUTPUT_BUDGET_BYTES};
use crate::host_keys::HostKeys;
use crate::metrics::SshMetrics;
use crate::reply_sender::NodeReplySender;
use crate::run::{SshActionRun, SshRunEnd};
use crate::run_spec::RemoteRunSpec;
use crate::stored_connections::SshConnections;
use crate::transactions::{RunAdmission, RunControl, SshTransactions, TransactionState};

/// Settings of runs over SSH.
#[derive(Clone, Debug)]
pub struct SshConfig {
    /// Host keys that are trusted.
    pub host_keys: HostKeys,
    /// Limit of concurrent runs.
    pub concurrency: usize,
}

/// Represents nodes without an agent in the fabric. Cheap to clone.
#[derive(Clone)]
pub struct SshRunner {
    shared: Arc<SshRunnerState>,
}

struct SshRunnerState {
    /// Set once, right after construction.
    port: OnceLock<Arc<AgentlessNodePort>>,
    connections: SshConnections,
    blobs: BlobStore,
    host_keys: HostKeys,
    capabilities: Arc<AgentCapabilities>,
    budget: Arc<OutputBudget>,
    run_slots: Semaphore,
    transactions: Mutex<SshTransactions>,
    metrics: Arc<SshMetrics>,
    tasks: TaskTracker,
    /// The task that learns of nodes with agents.
    following: TaskTracker,
    stopped: CancellationToken,
}

/// Prefix by which the engine recognises an unknown outcome.
const UNDETERMINED: &str = "the outcome is not known";

// === impl SshConfig ===

impl SshConfig {
    /// Uses [`CONCURRENCY`] as the limit.
    pub fn new(host_keys: HostKeys) -> Self {
        Self {
            host_keys,
            concurrency: CONCURRENCY,
        }
    }
}

// === impl SshRunner ===

impl SshRunner {
    /// Attaches the runner to `fabric` and starts it.
    pub fn start(
        config: SshConfig,
        fabric: &Fabric,
        connections: SshConnections,
        blobs: BlobStore,
    ) -> Self {
        let capabilities = AgentCapabilities {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            live_output: true,
            cancel: true,
            ..AgentCapabilities::default()
        };
        let shared = Arc::new(SshRunnerState {
            port: OnceLock::new(),
            connections,
            blobs,
            host_keys: config.host_keys,
            capabilities: Arc::new(capabilities),
            budget: Arc::new(OutputBudget::new(OUTPUT_BUDGET_BYTES)),
            run_slots: Semaphore::new(config.concurrency.max(1)),
            transactions: Mutex::default(),
            metrics: Arc::default(),
            tasks: TaskTracker::new(),
            following: TaskTracker::new(),
            stopped: CancellationToken::new(),
        });
        let learning = shared.connections.clone();
        let learning = learning.follow_agents(fabric.clone(), shared.stopped.clone());
        shared.following.spawn(learning);
        let port = fabric.attach_agentless_node(Arc::new(SshRunnerPort(Arc::clone(&shared))));
        // Set nowhere else.
        let _ = shared.port.set(Arc::new(port));
        Self { shared }
    }

    /// Accepts no more requests and closes all connections. Running programs are left to their
    /// hosts, and their outcomes stay unknown.
    pub async fn shutdown(&self) {
        self.shared.stopped.cancel();
        if let Some(port) = self.shared.port.get() {
            port.detach();
        }
        for tasks in [&self.shared.tasks, &self.shared.following] {
            tasks.close();
            tasks.wait().await;
        }
    }

    /// Counters since the start.
    pub fn metrics(&self) -> Arc<SshMetrics> {
        Arc::clone(&self.shared.metrics)
    }

    /// Waits until no run is active, including clean-ups, for tests that read what these left. New requests
    /// are still accepted.
    pub async fn wait_idle(&self) {
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
        self.shared.tasks.reopen();
    }
}

partial_debug!(SshRunner {});

/// Implementation of [`AgentlessNode`] for the fabric.
struct SshRunnerPort(Arc<SshRunnerState>);

#[async_trait]
impl AgentlessNode for SshRunnerPort {
    fn can_reach(&self, certname: &Certname) -> bool {
        self.0.connections.is_reachable(certname)
    }

    fn capabilities(&self) -> Arc<AgentCapabilities> {
        Arc::clone(&self.0.capabilities)
    }

    async fn deliver(&self, message: PcpMessage) -> Result<(), FabricSendError> {
        self.0.deliver(message)
    }
}

/// Node and message id of a request.
struct SshRequestOrigin {
    certname: Certname,
    message: MessageId,
}

// === impl SshRunnerState ===

impl SshRunnerState {
    fn deliver(self: &Arc<Self>, message: PcpMessage) -> Result<(), FabricSendError> {
        let certname = message.target.as_ref();
        let certname: Option<Certname> = certname.and_then(|uri| uri.common_name().parse().ok());
        let certname = certname.ok_or_else(|| FabricSendError::BadTarget("none".to_owned()))?;
        if self.stopped.is_cancelled() {
            return Err(FabricSendError::NotConnected(certname));
        }
        let body = PxpMessageBody::decode(&message.message_type, message.data.as_deref());
        let body = body.map_err(|error| FabricSendError::Refused(error.to_string()))?;
        let asked = SshRequestOrigin {
            certname,
            message: message.id,
        };
        match body {
            PxpMessageBody::NonBlockingRequest(request) => self.begin(asked, request)?,
            PxpMessageBody::BlockingRequest(request) => self.answer(&asked, &request),
            PxpMessageBody::Cancel { transaction_id, .. } => {
                if let Some(reins) = self.transactions().control(&transaction_id) {
                    reins.cancel.cancel();
                }
            }
            PxpMessageBody::OutputCredit {
                transaction_id,
                until,
            } => {
                if let Some(reins) = self.transactions().control(&transaction_id) {
                    reins.credit.send_if_modified(|granted| {
                        std::mem::replace(granted, until.max(*granted)) < until
                    });
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn begin(
        self: &Arc<Self>,
        asked: SshRequestOrigin,
        request: PxpRequest,
    ) -> Result<(), FabricSendError> {
        let begin = self.transactions().begin(&request.transaction_id);
        match begin {
            RunAdmission::Full => return Err(FabricSendError::Busy(asked.certname)),
            RunAdmission::AlreadyBegun => self.send_reply(
                &asked.certname,
                provisional_response(&request.transaction_id),
            ),
            RunAdmission::Now(reins) => {
                self.metrics.runs.inc();
                let shared = Arc::clone(self);
                let carried = async move {
                    let stopped = shared.stopped.clone();
                    tokio::select! {
                        () = Box::pin(shared.run_request(asked, request, reins)) => {}
                        () = stopped.cancelled() => {}
                    }
                };
                self.tasks.spawn(carried);
            }
        }
        Ok(())
    }

    /// Carries out a request and sends its outcome.
    async fn run_request(
        self: Arc<Self>,
        asked: SshRequestOrigin,
        request: PxpRequest,
        reins: RunControl,
    ) {
        let transaction = request.transaction_id.clone();
        let Some(voice) = self.reply_sender(&asked.certname, &transaction) else {
            return;
        };
        voice.send(provisional_response(&transaction)).await;
        let place = tokio::select! {
            place = self.run_slots.acquire() => place.ok(),
            () = reins.cancel.cancelled() => None,
        };
        let (end, left) = match (place.is_some(), self.read(&asked.certname, &request)) {
            (false, _) => (
                SshRunEnd::NotStarted("it was cancelled while it waited".to_owned()),
                None,
            ),
            (true, Err(why)) => (SshRunEnd::NotStarted(why), None),
            (true, Ok((connection, work))) => {
                let run = SshActionRun {
                    certname: asked.certname.clone(),
                    connection,
                    work,
                    blobs: self.blobs.clone(),
                    host_keys: self.host_keys.clone(),
                    budget: Arc::clone(&self.budget),
                    voice: voice.clone(),
                    credit: reins.credit.subscribe(),
                    cancel: reins.cancel.clone(),
                };
                Box::pin(run.execute()).await
            }
        };
        let (result, body) = build_outcome(end, &transaction, asked.message);
        self.transactions().end(&transaction, result);
        voice.send(body).await;
        if let Some(left) = left {
            left.clean_up().await;
        }
    }

    /// Finds the connection of the node and parses the request.
    fn read(
        &self,
        certname: &Certname,
        request: &PxpRequest,
    ) -> Result<(Arc<SshConnection>, RemoteRunSpec), String> {
        let mut params: Map<String, Value> = action::decode(&request.params)
            .map_err(|error| format!("the request cannot be read: {error}"))?;
        let connection = match params.remove(CONNECTION_KEY) {
            Some(Value::String(sealed)) => Arc::new(self.connections.unseal(&sealed)?),
            Some(_) => return Err("the request's connection is no text".to_owned()),
            None => self.connections.usable_connection(certname).ok_or_else(|| {
                format!(
                    "no connection to {certname} is stored any more that may be used: a node that \
                     had an agent needs one with `{REPLACES_AGENT}`"
                )
            })?,
        };
        let params: Box<RawValue> = action::encode(&params);
        let work = RemoteRunSpec::read(&request.module, &request.action, &params)?;
        Ok((connection, work))
    }

    /// Answers a blocking request, such as a status query.
    fn answer(self: &Arc<Self>, asked: &SshRequestOrigin, request: &PxpRequest) {
        let transaction_id = request.transaction_id.clone();
        let results = match (request.module.as_str(), request.action.as_str()) {
            ("status", "query") => action::decode::<StatusParams>(&request.params)
                .map(|params| action::encode(&self.status(params.transaction_id)))
                .map_err(|error| error.to_string()),
            (module, action) => Err(format!("`{module} {action}` is not known over SSH")),
        };
        let body = match results {
            Ok(results) => PxpMessageBody::BlockingResponse(PxpResponse {
                transaction_id,
                results,
            }),
            Err(description) => PxpMessageBody::Error(RpcError {
                transaction_id,
                id: asked.message,
                description,
            }),
        };
        self.send_reply(&asked.certname, body);
    }

    fn status(&self, transaction: TransactionId) -> StatusResult {
        match self.transactions().state(&transaction) {
            TransactionState::Unknown => StatusResult::new(transaction, TransactionStatus::Unknown),
            TransactionState::Running => StatusResult::new(transaction, TransactionStatus::Running),
            TransactionState::Ended(result) => StatusResult::finished(transaction, *result),
        }
    }

    /// Sends in a separate task, so that a full queue of the engine does not block the caller.
    fn send_reply(self: &Arc<Self>, certname: &Certname, body: PxpMessageBody) {
        if let Some(voice) = self.reply_sender(certname, body.transaction_id()) {
            self.tasks.spawn(async move { voice.send(body).await });
        }
    }

    fn reply_sender(
        &self,
        certname: &Certname,
        transaction: &TransactionId,
    ) -> Option<NodeReplySender> {
        Some(NodeReplySender {
            port: Arc::clone(self.port.get()?),
            certname: certname.clone(),
            address: fabric::ssh_address(certname).ok()?,
            transaction: transaction.clone(),
        })
    }

    fn transactions(&self) -> MutexGuard<'_, SshTransactions> {
        self.transactions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn provisional_response(transaction: &TransactionId) -> PxpMessageBody {
    let transaction_id = transaction.clone();
    PxpMessageBody::ProvisionalResponse { transaction_id }
}

/// The result to keep for status queries, and the message to send.
fn build_outcome(
    end: SshRunEnd,
    transaction: &TransactionId,
    request: MessageId,
) -> (Option<Box<ActionResult>>, PxpMessageBody) {
    let transaction_id = transaction.clone();
    let error = |description| {
        PxpMessageBody::Error(RpcError {
            transaction_id: transaction.clone(),
            id: request,
            description,
        })
    };
    match end {
        SshRunEnd::Result(result) => {
            let results = action::encode(&*result);
            let response = PxpResponse {
                transaction_id,
                results,
            };
            (Some(result), PxpMessageBody::NonBlockingResponse(response))
        }
        SshRunEnd::NotStarted(why) => (None, error(why)),
        SshRunEnd::Unknown(why) => (None, error(format!("{UNDETERMINED}: {why}"))),
    }
}
