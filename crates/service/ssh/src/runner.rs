//! Nodes without an agent, in the engine's eyes: [`SshRunner`] answers for them as agents would.
//!
//! The rules: a request is carried out at most once, since no memory of it outlives this process and
//! nothing here claims one (there is no spool id, so the engine never sends a request again); a run
//! is told to end by its transaction alone; and no run outlives [`SshRunner::shutdown`].

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use async_trait::async_trait;
use environments::Blobs;
use fabric::{CONNECTION_KEY, Fabric, SendError, StandIn, StandInPort};
use pcp::{Certname, Message, MessageId};
use pxp::action::{self, ActionResult, Status, StatusParams, StatusResult};
use pxp::{Body, Capabilities, Request, Response, RpcError, TransactionId};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::book::Connections;
use crate::capture::Budget;
use crate::carry::{End, Run};
use crate::connection::{Connection, REPLACES_AGENT};
use crate::defaults::{CONCURRENCY, OUTPUT_BUDGET_BYTES};
use crate::host_keys::HostKeys;
use crate::transactions::{Begin, Reins, State, Transactions};
use crate::voice::Voice;
use crate::work::Work;

/// How runs over SSH are carried out.
#[derive(Clone, Debug)]
pub struct SshConfig {
    /// Who is trusted.
    pub host_keys: HostKeys,
    /// Runs at once.
    pub concurrency: usize,
}

/// The stand-in for nodes without an agent. Cheap to clone.
#[derive(Clone)]
pub struct SshRunner {
    shared: Arc<Shared>,
}

struct Shared {
    /// Set once, right after the making.
    port: OnceLock<Arc<StandInPort>>,
    connections: Connections,
    blobs: Blobs,
    host_keys: HostKeys,
    capabilities: Arc<Capabilities>,
    budget: Arc<Budget>,
    places: Semaphore,
    transactions: Mutex<Transactions>,
    /// Runs that began.
    runs: AtomicU64,
    tasks: TaskTracker,
    /// Who learns which nodes have agents; no run.
    following: TaskTracker,
    stopped: CancellationToken,
}

/// How the engine begins to read that nobody knows the outcome.
const UNDETERMINED: &str = "the outcome is not known";

// === impl SshConfig ===

impl SshConfig {
    /// With the usual bound.
    pub fn new(host_keys: HostKeys) -> Self {
        Self {
            host_keys,
            concurrency: CONCURRENCY,
        }
    }
}

// === impl SshRunner ===

impl SshRunner {
    /// Takes the seat of the stand-in in `fabric`.
    pub fn start(
        config: SshConfig,
        fabric: &Fabric,
        connections: Connections,
        blobs: Blobs,
    ) -> Self {
        let capabilities = Capabilities {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            live_output: true,
            cancel: true,
            ..Capabilities::default()
        };
        let shared = Arc::new(Shared {
            port: OnceLock::new(),
            connections,
            blobs,
            host_keys: config.host_keys,
            capabilities: Arc::new(capabilities),
            budget: Arc::new(Budget::new(OUTPUT_BUDGET_BYTES)),
            places: Semaphore::new(config.concurrency.max(1)),
            transactions: Mutex::default(),
            runs: AtomicU64::new(0),
            tasks: TaskTracker::new(),
            following: TaskTracker::new(),
            stopped: CancellationToken::new(),
        });
        let learning = shared.connections.clone();
        let learning = learning.follow(fabric.clone(), shared.stopped.clone());
        shared.following.spawn(learning);
        let port = fabric.attach_stand_in(Arc::new(Link(Arc::clone(&shared))));
        // Nobody else sets it.
        let _ = shared.port.set(Arc::new(port));
        Self { shared }
    }

    /// Takes no more requests and leaves what runs to the hosts: connections are cut, and nobody
    /// learns how those runs end.
    pub async fn shutdown(&self) {
        self.shared.stopped.cancel();
        if let Some(port) = self.shared.port.get() {
            port.leave();
        }
        for tasks in [&self.shared.tasks, &self.shared.following] {
            tasks.close();
            tasks.wait().await;
        }
    }

    /// Runs that were begun since the start.
    pub fn runs(&self) -> u64 {
        self.shared.runs.load(Ordering::Relaxed)
    }

    /// Waits until nothing runs any more, clean-ups included. New requests are still taken.
    pub async fn idle(&self) {
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
        self.shared.tasks.reopen();
    }
}

impl fmt::Debug for SshRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SshRunner").finish_non_exhaustive()
    }
}

/// The fabric's end.
struct Link(Arc<Shared>);

#[async_trait]
impl StandIn for Link {
    fn knows(&self, certname: &Certname) -> bool {
        self.0.connections.reach(certname)
    }

    fn capabilities(&self) -> Arc<Capabilities> {
        Arc::clone(&self.0.capabilities)
    }

    async fn deliver(&self, message: Message) -> Result<(), SendError> {
        self.0.deliver(message)
    }
}

/// Who asked what.
struct Asked {
    certname: Certname,
    message: MessageId,
}

// === impl Shared ===

impl Shared {
    fn deliver(self: &Arc<Self>, message: Message) -> Result<(), SendError> {
        let certname = message.target.as_ref();
        let certname: Option<Certname> = certname.and_then(|uri| uri.common_name().parse().ok());
        let certname = certname.ok_or_else(|| SendError::BadTarget("none".to_owned()))?;
        if self.stopped.is_cancelled() {
            return Err(SendError::NotConnected(certname));
        }
        let body = Body::decode(&message.message_type, message.data.as_deref());
        let body = body.map_err(|error| SendError::Refused(error.to_string()))?;
        let asked = Asked {
            certname,
            message: message.id,
        };
        match body {
            Body::NonBlockingRequest(request) => self.begin(asked, request)?,
            Body::BlockingRequest(request) => self.answer(&asked, &request),
            Body::Cancel { transaction_id, .. } => {
                if let Some(reins) = self.transactions().reins(&transaction_id) {
                    reins.cancel.cancel();
                }
            }
            Body::OutputCredit {
                transaction_id,
                until,
            } => {
                if let Some(reins) = self.transactions().reins(&transaction_id) {
                    reins.granted.send_if_modified(|granted| {
                        std::mem::replace(granted, until.max(*granted)) < until
                    });
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn begin(self: &Arc<Self>, asked: Asked, request: Request) -> Result<(), SendError> {
        let begin = self.transactions().begin(&request.transaction_id);
        match begin {
            Begin::Full => return Err(SendError::Busy(asked.certname)),
            Begin::Known => self.say(&asked.certname, provisional(&request.transaction_id)),
            Begin::Now(reins) => {
                self.runs.fetch_add(1, Ordering::Relaxed);
                let shared = Arc::clone(self);
                let carried = async move {
                    let stopped = shared.stopped.clone();
                    tokio::select! {
                        () = Box::pin(shared.carry(asked, request, reins)) => {}
                        () = stopped.cancelled() => {}
                    }
                };
                self.tasks.spawn(carried);
            }
        }
        Ok(())
    }

    /// From the request to its outcome.
    async fn carry(self: Arc<Self>, asked: Asked, request: Request, reins: Reins) {
        let transaction = request.transaction_id.clone();
        let Some(voice) = self.voice(&asked.certname, &transaction) else {
            return;
        };
        voice.say(provisional(&transaction)).await;
        let place = tokio::select! {
            place = self.places.acquire() => place.ok(),
            () = reins.cancel.cancelled() => None,
        };
        let (end, left) = match (place.is_some(), self.read(&asked.certname, &request)) {
            (false, _) => (
                End::NotStarted("it was cancelled while it waited".to_owned()),
                None,
            ),
            (true, Err(why)) => (End::NotStarted(why), None),
            (true, Ok((connection, work))) => {
                let run = Run {
                    certname: asked.certname.clone(),
                    connection,
                    work,
                    blobs: self.blobs.clone(),
                    host_keys: self.host_keys.clone(),
                    budget: Arc::clone(&self.budget),
                    voice: voice.clone(),
                    granted: reins.granted.subscribe(),
                    cancel: reins.cancel.clone(),
                };
                Box::pin(run.carry()).await
            }
        };
        let (result, body) = outcome(end, &transaction, asked.message);
        self.transactions().end(&transaction, result);
        voice.say(body).await;
        if let Some(left) = left {
            left.clean_up().await;
        }
    }

    /// How the node is reached, and what is to be done there.
    fn read(
        &self,
        certname: &Certname,
        request: &Request,
    ) -> Result<(Arc<Connection>, Work), String> {
        let mut params: Map<String, Value> = action::decode(&request.params)
            .map_err(|error| format!("the request cannot be read: {error}"))?;
        let connection = match params.remove(CONNECTION_KEY) {
            Some(Value::String(sealed)) => Arc::new(self.connections.unseal(&sealed)?),
            Some(_) => return Err("the request's connection is no text".to_owned()),
            None => self.connections.of(certname).ok_or_else(|| {
                format!(
                    "no connection to {certname} is stored any more that may be used: a node that \
                     had an agent needs one with `{REPLACES_AGENT}`"
                )
            })?,
        };
        let params: Box<RawValue> = action::encode(&params);
        let work = Work::read(&request.module, &request.action, &params)?;
        Ok((connection, work))
    }

    /// A question that is answered at once.
    fn answer(self: &Arc<Self>, asked: &Asked, request: &Request) {
        let transaction_id = request.transaction_id.clone();
        let results = match (request.module.as_str(), request.action.as_str()) {
            ("status", "query") => action::decode::<StatusParams>(&request.params)
                .map(|params| action::encode(&self.status(params.transaction_id)))
                .map_err(|error| error.to_string()),
            (module, action) => Err(format!("`{module} {action}` is not known over SSH")),
        };
        let body = match results {
            Ok(results) => Body::BlockingResponse(Response {
                transaction_id,
                results,
            }),
            Err(description) => Body::Error(RpcError {
                transaction_id,
                id: asked.message,
                description,
            }),
        };
        self.say(&asked.certname, body);
    }

    fn status(&self, transaction: TransactionId) -> StatusResult {
        match self.transactions().state(&transaction) {
            State::Unknown => StatusResult::new(transaction, Status::Unknown),
            State::Running => StatusResult::new(transaction, Status::Running),
            State::Ended(result) => StatusResult::finished(transaction, *result),
        }
    }

    /// In a task of its own, so that a full inbox holds up nobody else.
    fn say(self: &Arc<Self>, certname: &Certname, body: Body) {
        if let Some(voice) = self.voice(certname, body.transaction_id()) {
            self.tasks.spawn(async move { voice.say(body).await });
        }
    }

    fn voice(&self, certname: &Certname, transaction: &TransactionId) -> Option<Voice> {
        Some(Voice {
            port: Arc::clone(self.port.get()?),
            certname: certname.clone(),
            address: fabric::ssh_address(certname).ok()?,
            transaction: transaction.clone(),
        })
    }

    fn transactions(&self) -> MutexGuard<'_, Transactions> {
        self.transactions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn provisional(transaction: &TransactionId) -> Body {
    let transaction_id = transaction.clone();
    Body::ProvisionalResponse { transaction_id }
}

/// What is kept and what is told.
fn outcome(
    end: End,
    transaction: &TransactionId,
    request: MessageId,
) -> (Option<Box<ActionResult>>, Body) {
    let transaction_id = transaction.clone();
    let error = |description| {
        Body::Error(RpcError {
            transaction_id: transaction.clone(),
            id: request,
            description,
        })
    };
    match end {
        End::Result(result) => {
            let results = action::encode(&*result);
            let response = Response {
                transaction_id,
                results,
            };
            (Some(result), Body::NonBlockingResponse(response))
        }
        End::NotStarted(why) => (None, error(why)),
        End::Unknown(why) => (None, error(format!("{UNDETERMINED}: {why}"))),
    }
}
