//! A broker with agents in memory, and their faults.
//!
//! [`Sim`] attaches to the fabric as a broker does. Each agent has a spool that outlives the
//! engine; [`Sim::executions`] is the ledger of what really ran.

mod leases;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use fabric::{BrokerLink, BrokerPort, Fabric, FabricSendError};
use pcp::{Certname, PcpMessage, PcpUri};
use pxp::action::{self, ActionResult, StatusParams, StatusResult, TaskParams, TransactionStatus};
use pxp::{
    AgentCapabilities, OutputPiece, ProcessStream, PxpMessageBody, PxpRequest, PxpResponse,
    RpcError, TransactionId,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tokio::sync::watch;
use uuid::Uuid;

/// How an agent behaves. The default: at once and without fault.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manner {
    /// A stock pxp-agent: no extensions.
    pub(crate) stock: bool,
    /// How long an action takes, in milliseconds.
    pub(crate) takes_ms: std::ops::Range<u64>,
    /// Actions wait for [`Sim::let_go`].
    pub(crate) held: bool,
    /// Requests vanish before the agent sees them, in percent.
    pub(crate) loses_requests: u32,
    /// Outcomes vanish on their way (once each for a Tutti agent, it sends them again), in percent.
    pub(crate) loses_outcomes: u32,
    /// Everything the agent says is said twice, in percent.
    pub(crate) doubles: u32,
    /// Nothing is ever answered, and nothing run.
    pub(crate) mute: bool,
    /// The queue in the broker is full for the first so many requests.
    pub(crate) busy: u32,
    /// Has this module not, and says so.
    pub(crate) lacks: Option<&'static str>,
    /// Answers requests with an rpc error.
    pub(crate) refuses: bool,
    /// Ends actions with an error: how they went is not known.
    pub(crate) loses_track: bool,
    /// Ends actions with this error in the place of their result, as a pxp-agent does.
    pub(crate) errs: Option<&'static str>,
    /// Tells neither outcome nor status of its actions: a pxp-agent over PCP 2, for bytes on standard error that are
    /// not UTF-8.
    pub(crate) untellable: bool,
    /// Answers no status query with a status, but with an error.
    pub(crate) status_errs: Option<&'static str>,
    /// A broker far away says so instead of the fabric.
    pub(crate) not_connected_message: bool,
    /// What the action does.
    pub(crate) result: Option<ActionResult>,
    /// Standard output that is written live, before the action ends.
    pub(crate) writes: Vec<u8>,
    /// A Tutti agent behind a stock broker: what it announces does not come through.
    pub(crate) unannounced: bool,
    /// Its messages reach the engine with replaced bytes.
    pub(crate) replaced_bytes: bool,
    /// Keeps other runs of Puppet from starting, for jobs that ask for it.
    pub(crate) leases: bool,
    /// A run of Puppet of its own is in progress, whose end it waits for before it takes a lease.
    pub(crate) runs_puppet: bool,
    /// Takes no lease, for this reason.
    pub(crate) refuses_leases: Option<&'static str>,
    /// Ignores a cancel.
    pub(crate) stubborn: bool,
    /// What a Puppet run says; that it changed nothing otherwise.
    pub(crate) puppet: Option<Value>,
}

pub(crate) struct Sim {
    inner: Arc<Inner>,
}

struct Inner {
    agents: Mutex<HashMap<Certname, Agent>>,
    port: Mutex<Option<Arc<BrokerPort>>>,
    chance: Mutex<StdRng>,
    executions: Mutex<HashMap<TransactionId, usize>>,
    requests: Mutex<Vec<(Certname, TransactionId)>>,
    seen_params: Mutex<Vec<TaskParams>>,
    seen_actions: Mutex<Vec<(String, Value)>>,
    seen_file_servers: Mutex<Vec<String>>,
    seen_puppet: Mutex<Vec<Value>>,
    /// What was asked about leases: node, action and lease.
    leases_asked: Mutex<Vec<(Certname, String, Uuid)>>,
    /// Nodes with a run under a lease.
    leased_runs: Mutex<HashSet<Certname>>,
    running: AtomicUsize,
    most_running: AtomicUsize,
    go: watch::Sender<bool>,
    /// Of the test: agents live on when the engine's runtime dies.
    runtime: tokio::runtime::Handle,
}

struct Agent {
    manner: Manner,
    connected: bool,
    spool_id: Uuid,
    spool: HashMap<TransactionId, Entry>,
    /// Of the agent with the same certname that is not connected now.
    namesake: (Uuid, HashMap<TransactionId, Entry>),
    busy: u32,
    /// The lease that it holds.
    lease: Option<Uuid>,
    /// The same, if it lasts until it is released.
    quarantine: Option<Uuid>,
    /// The lease without an end that the lease replaced.
    replaced: Option<Uuid>,
}

#[derive(Clone)]
struct Entry {
    outcome: Option<ActionResult>,
    puppet: bool,
    acknowledged: bool,
    cancelled: watch::Sender<bool>,
    credit: watch::Sender<u64>,
    sent: u64,
}

struct Link(Arc<Inner>);

// === impl Manner ===

impl Manner {
    /// Actions wait for [`Sim::let_go`].
    pub(crate) fn held() -> Self {
        Self {
            held: true,
            ..Self::default()
        }
    }
}

// === impl Sim ===

impl Sim {
    pub(crate) fn new(seed: u64) -> Self {
        let inner = Inner {
            agents: Mutex::default(),
            port: Mutex::default(),
            chance: Mutex::new(StdRng::seed_from_u64(seed)),
            executions: Mutex::default(),
            requests: Mutex::default(),
            seen_params: Mutex::default(),
            seen_actions: Mutex::default(),
            seen_file_servers: Mutex::default(),
            seen_puppet: Mutex::default(),
            leases_asked: Mutex::default(),
            leased_runs: Mutex::default(),
            running: AtomicUsize::new(0),
            most_running: AtomicUsize::new(0),
            go: watch::Sender::new(false),
            runtime: tokio::runtime::Handle::current(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The broker comes in; its connected agents with it.
    pub(crate) fn attach(&self, fabric: &Fabric) {
        let link = Arc::new(Link(Arc::clone(&self.inner)));
        let port = Arc::new(fabric.attach_broker(PcpUri::broker(), link));
        *lock(&self.inner.port) = Some(port);
        let connected: Vec<Certname> = lock(&self.inner.agents)
            .iter()
            .filter(|(_, agent)| agent.connected)
            .map(|(certname, _)| certname.clone())
            .collect();
        for certname in connected {
            self.connect(&certname);
        }
    }

    /// The broker goes away, as when the server dies; agents keep what they have.
    pub(crate) fn detach(&self) {
        *lock(&self.inner.port) = None;
    }

    /// A new agent, connected.
    pub(crate) fn add(&self, certname: &Certname, manner: Manner) {
        let spool = HashMap::new();
        let agent = Agent {
            manner,
            connected: true,
            spool_id: Uuid::new_v4(),
            spool,
            namesake: (Uuid::new_v4(), HashMap::new()),
            busy: 0,
            lease: None,
            quarantine: None,
            replaced: None,
        };
        lock(&self.inner.agents).insert(certname.clone(), agent);
        if lock(&self.inner.port).is_some() {
            self.connect(certname);
        }
    }

    pub(crate) fn connect(&self, certname: &Certname) {
        let capabilities = {
            let mut agents = lock(&self.inner.agents);
            let agent = agents.get_mut(certname).unwrap();
            agent.connected = true;
            agent.capabilities()
        };
        if let Some(port) = self.inner.port() {
            port.add_node(certname.clone(), capabilities.map(Arc::new));
        }
        // As the real one: outcomes that nobody acknowledged are sent again.
        let again: Vec<TransactionId> = self.inner.with(certname, |agent| {
            let open = |entry: &Entry| entry.outcome.is_some() && !entry.acknowledged;
            let ids = agent.spool.iter().filter(|(_, entry)| open(entry));
            if agent.manner.stock {
                Vec::new()
            } else {
                ids.map(|(id, _)| id.clone()).collect()
            }
        });
        for transaction in again {
            let tell = Arc::clone(&self.inner).tell_outcome(certname.clone(), transaction);
            self.inner.runtime.spawn(tell);
        }
    }

    pub(crate) fn disconnect(&self, certname: &Certname) {
        self.inner.with(certname, |agent| agent.connected = false);
        if let Some(port) = self.inner.port() {
            port.remove_node(certname);
        }
    }

    pub(crate) fn change(&self, certname: &Certname, change: impl FnOnce(&mut Manner)) {
        self.inner.with(certname, |agent| change(&mut agent.manner));
    }

    /// The agent's machine was set up anew.
    pub(crate) fn lose_spool(&self, certname: &Certname) {
        self.inner.with(certname, |agent| {
            agent.spool.clear();
            agent.spool_id = Uuid::new_v4();
        });
    }

    /// Another agent with this certname connects, and the broker ends the session of the first;
    /// called again, the first one takes its place back. Returns the spool of who is there now.
    pub(crate) fn displace(&self, certname: &Certname) -> Uuid {
        let spool_id = self.inner.with(certname, |agent| {
            std::mem::swap(&mut agent.spool_id, &mut agent.namesake.0);
            std::mem::swap(&mut agent.spool, &mut agent.namesake.1);
            agent.spool_id
        });
        self.connect(certname);
        spool_id
    }

    /// What a run's mark says of this agent.
    pub(crate) fn mark_of(&self, certname: &Certname) -> Option<String> {
        self.inner.with(certname, |agent| {
            let spool_id = agent.spool_id;
            (!agent.manner.stock).then(|| serde_json::json!({"spool_id": spool_id}).to_string())
        })
    }

    /// Held actions go on.
    pub(crate) fn let_go(&self) {
        self.inner.go.send_replace(true);
    }

    /// How often each transaction was executed.
    pub(crate) fn executions(&self) -> HashMap<TransactionId, usize> {
        lock(&self.inner.executions).clone()
    }

    /// Every request that reached the broker, in order.
    pub(crate) fn requests(&self) -> Vec<(Certname, TransactionId)> {
        lock(&self.inner.requests).clone()
    }

    pub(crate) fn seen_params(&self) -> Vec<TaskParams> {
        lock(&self.inner.seen_params).clone()
    }

    /// `MODULE ACTION` and parameters of all that agents took.
    pub(crate) fn seen_actions(&self) -> Vec<(String, Value)> {
        lock(&self.inner.seen_actions).clone()
    }

    /// The servers of files that agents were told, one after the other.
    pub(crate) fn seen_file_servers(&self) -> Vec<String> {
        lock(&self.inner.seen_file_servers).clone()
    }

    /// The parameters of every Puppet run that an agent got.
    pub(crate) fn seen_puppet(&self) -> Vec<Value> {
        lock(&self.inner.seen_puppet).clone()
    }

    pub(crate) fn most_running(&self) -> usize {
        self.inner.most_running.load(Ordering::SeqCst)
    }

    /// Bytes of live output that the agent has sent.
    pub(crate) fn output_sent(&self, certname: &Certname) -> u64 {
        self.inner.with(certname, |agent| {
            agent.spool.values().map(|entry| entry.sent).sum()
        })
    }

    /// Whether the engine has acknowledged every outcome of the agent.
    pub(crate) fn all_acknowledged(&self, certname: &Certname) -> bool {
        self.inner.with(certname, |agent| {
            agent.spool.values().all(|entry| entry.acknowledged)
        })
    }

    /// Gives the agent the outcome of a run that the engine does not know.
    pub(crate) fn leave_outcome(&self, certname: &Certname) {
        let mut entry = Entry::new();
        entry.outcome = Some(ActionResult::default());
        self.inner.with(certname, |agent| {
            agent.spool.insert(TransactionId::random(), entry)
        });
    }

    /// Says something in an agent's name.
    pub(crate) async fn say(&self, certname: &Certname, body: PxpMessageBody) {
        self.inner.say(certname, body).await;
    }

    /// Sends the outcome of every transaction of the agent once more.
    pub(crate) async fn repeat_outcomes(&self, certname: &Certname) {
        let ids: Vec<TransactionId> = self
            .inner
            .with(certname, |agent| agent.spool.keys().cloned().collect());
        for id in ids {
            Arc::clone(&self.inner)
                .tell_outcome(certname.clone(), id)
                .await;
        }
    }
}

#[async_trait::async_trait]
impl BrokerLink for Link {
    async fn deliver(&self, message: PcpMessage) -> Result<(), FabricSendError> {
        self.0.deliver(message)
    }

    fn has_session(&self, certname: &Certname) -> bool {
        self.0.with(certname, |agent| agent.connected)
    }
}

// === impl Inner ===

impl Inner {
    fn port(&self) -> Option<Arc<BrokerPort>> {
        lock(&self.port).clone()
    }

    fn with<T>(&self, certname: &Certname, what: impl FnOnce(&mut Agent) -> T) -> T {
        what(lock(&self.agents).get_mut(certname).expect("a known agent"))
    }

    fn manner(&self, certname: &Certname) -> Manner {
        self.with(certname, |agent| agent.manner.clone())
    }

    fn happens(&self, percent: u32) -> bool {
        percent > 0 && lock(&self.chance).random_range(0..100) < percent
    }

    fn deliver(self: &Arc<Self>, message: PcpMessage) -> Result<(), FabricSendError> {
        let target = message.target.clone().unwrap();
        let certname: Certname = target.common_name().parse().unwrap();
        if !self.with(&certname, |agent| agent.connected) {
            return Err(FabricSendError::NotConnected(certname));
        }
        let body = PxpMessageBody::decode(&message.message_type, message.data.as_deref()).unwrap();
        let manner = self.manner(&certname);
        if let PxpMessageBody::NonBlockingRequest(request) = body {
            return self.request(certname, &manner, request, &message);
        }
        if manner.mute {
            return Ok(());
        }
        match body {
            PxpMessageBody::BlockingRequest(request) => self.blocking(certname, &manner, request),
            PxpMessageBody::OutcomeAck { transaction_id } => {
                self.entry(&certname, &transaction_id, |entry| {
                    entry.acknowledged = true;
                })
            }
            PxpMessageBody::OutputCredit {
                transaction_id,
                until,
            } => {
                self.entry(&certname, &transaction_id, |entry| {
                    // Credits may overtake each other; the largest holds, as with agents.
                    entry
                        .credit
                        .send_modify(|granted| *granted = until.max(*granted));
                });
            }
            PxpMessageBody::Cancel { transaction_id, .. } if !manner.stubborn => {
                self.entry(&certname, &transaction_id, |entry| {
                    _ = entry.cancelled.send_replace(true)
                });
            }
            _ => {}
        }
        Ok(())
    }

    fn entry(&self, certname: &Certname, id: &TransactionId, what: impl FnOnce(&mut Entry)) {
        self.with(certname, |agent| agent.spool.get_mut(id).map(what));
    }

    fn request(
        self: &Arc<Self>,
        certname: Certname,
        manner: &Manner,
        request: PxpRequest,
        message: &PcpMessage,
    ) -> Result<(), FabricSendError> {
        let busy = self.with(&certname, |agent| {
            agent.busy += 1;
            agent.busy <= manner.busy
        });
        if busy {
            return Err(FabricSendError::Busy(certname));
        }
        let transaction = request.transaction_id.clone();
        lock(&self.requests).push((certname.clone(), transaction.clone()));
        if manner.mute || self.happens(manner.loses_requests) {
            return Ok(());
        }
        if manner.not_connected_message {
            let error =
                PcpMessage::error("Not connected.", Some(message.id)).from(PcpUri::broker());
            let port = self.port().unwrap();
            self.runtime
                .spawn(async move { port.send_to_engine(certname, error).await });
            return Ok(());
        }
        let lacks = match (manner.lacks, request.action.as_str()) {
            (Some("run_with"), "run_with") => true,
            (lacks, _) => lacks == Some(request.module.as_str()),
        };
        if manner.refuses || lacks {
            let (module, action) = (&request.module, &request.action);
            let description = match action.as_str() {
                "run_with" => format!("unknown action '{action}' for module '{module}'"),
                _ => format!("unknown module: {module}"),
            };
            let error = RpcError {
                transaction_id: transaction,
                id: message.id,
                description,
            };
            self.later(certname, PxpMessageBody::Error(error));
            return Ok(());
        }
        let puppet = request.module == "pxp-module-puppet";
        let params: Value = serde_json::from_str(request.params.get()).unwrap();
        let what = format!("{} {}", request.module, request.action);
        lock(&self.seen_actions).push((what.clone(), params));
        lock(&self.seen_file_servers).extend(request.file_servers.iter().cloned());
        if puppet && manner.leases {
            let params: action::PuppetParams = action::decode(&request.params).unwrap();
            let held = self.with(&certname, |agent| agent.lease);
            // Nodes outside of the order have no lease.
            if held.is_some() {
                assert_eq!(params.lease(), held, "{certname} runs without its lease");
                lock(&self.leased_runs).insert(certname.clone());
            }
        }
        if puppet {
            lock(&self.seen_puppet).push(action::decode(&request.params).unwrap());
        } else if what == "task run" {
            lock(&self.seen_params).push(action::decode(&request.params).unwrap());
        }
        let (known, cancelled) = self.with(&certname, |agent| {
            let known = agent.spool.contains_key(&transaction);
            let entry = agent
                .spool
                .entry(transaction.clone())
                .or_insert_with(Entry::new);
            entry.puppet = puppet;
            (known, entry.cancelled.subscribe())
        });
        self.later(
            certname.clone(),
            PxpMessageBody::ProvisionalResponse {
                transaction_id: transaction.clone(),
            },
        );
        if !known {
            *lock(&self.executions)
                .entry(transaction.clone())
                .or_default() += 1;
            self.runtime
                .spawn(Arc::clone(self).execute(certname, transaction, cancelled));
        }
        Ok(())
    }

    async fn execute(
        self: Arc<Self>,
        certname: Certname,
        transaction: TransactionId,
        mut cancelled: watch::Receiver<bool>,
    ) {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_running.fetch_max(running, Ordering::SeqCst);
        let manner = self.manner(&certname);
        let work = async {
            if !manner.writes.is_empty() {
                self.write(&certname, &transaction, &manner.writes).await;
            }
            if manner.held {
                self.go.subscribe().wait_for(|go| *go).await.unwrap();
            }
            if !manner.takes_ms.is_empty() {
                let ms = lock(&self.chance).random_range(manner.takes_ms.clone());
                tokio::time::sleep(Duration::from_millis(ms)).await;
            }
        };
        let ended = tokio::select! {
            () = work => manner.result.clone().unwrap_or_else(|| ActionResult {
                stdout: Some("done\n".to_owned()),
                ..ActionResult::default()
            }),
            Ok(_) = cancelled.wait_for(|cancelled| *cancelled) => ActionResult {
                exitcode: 143,
                signal: Some(15),
                cancelled: true,
                ..ActionResult::default()
            },
        };
        self.running.fetch_sub(1, Ordering::SeqCst);
        let kept = self.with(&certname, |agent| {
            agent
                .spool
                .get_mut(&transaction)
                .map(|entry| entry.outcome = Some(ended))
                .is_some()
        });
        if kept {
            self.tell_outcome(certname, transaction).await;
        }
    }

    /// Sends live output as far as there is leave.
    async fn write(&self, certname: &Certname, transaction: &TransactionId, bytes: &[u8]) {
        let mut credit = self.with(certname, |agent| {
            agent.spool[transaction].credit.subscribe()
        });
        let mut offset = 0;
        while offset < bytes.len() {
            let until = *credit
                .wait_for(|until| *until > offset as u64)
                .await
                .unwrap();
            let end = bytes.len().min(until as usize).min(offset + 4_096);
            let data = bytes::Bytes::copy_from_slice(&bytes[offset..end]);
            let output = OutputPiece {
                transaction_id: transaction.clone(),
                stream: ProcessStream::Stdout,
                offset: offset as u64,
                data,
            };
            offset = end;
            self.entry(certname, transaction, |entry| entry.sent = offset as u64);
            self.say(certname, PxpMessageBody::Output(output)).await;
        }
    }

    /// A Tutti agent says it until it is acknowledged, a stock one once.
    async fn tell_outcome(self: Arc<Self>, certname: Certname, transaction: TransactionId) {
        let mut first = true;
        loop {
            let manner = self.manner(&certname);
            let entry = self.with(&certname, |agent| match agent.spool.get(&transaction) {
                Some(entry) if !entry.acknowledged || first => Some(entry.clone()),
                _ => None,
            });
            let Some(Entry {
                outcome: Some(outcome),
                puppet,
                ..
            }) = entry
            else {
                return;
            };
            let lost = self.happens(manner.loses_outcomes);
            if !manner.mute && !manner.untellable && !lost {
                let body = end_of(&manner, &transaction, &outcome, puppet);
                if self.happens(manner.doubles) {
                    self.say(&certname, body.clone()).await;
                }
                self.say(&certname, body).await;
            }
            if manner.stock {
                return;
            }
            first = false;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn blocking(self: &Arc<Self>, certname: Certname, manner: &Manner, request: PxpRequest) {
        let transaction_id = request.transaction_id.clone();
        if manner.untellable && request.module == "status" {
            return;
        }
        if let Some(words) = manner.status_errs {
            let error = RpcError {
                transaction_id,
                id: pcp::MessageId::random(),
                description: words.to_owned(),
            };
            return self.later(certname, PxpMessageBody::Error(error));
        }
        let results = match request.module.as_str() {
            "ping" => {
                serde_json::value::to_raw_value(&serde_json::json!({"request_hops": []})).unwrap()
            }
            action::TUTTI_MODULE if manner.stock => {
                let error = RpcError {
                    transaction_id,
                    id: pcp::MessageId::random(),
                    description: "unknown module: tutti".to_owned(),
                };
                return self.later(certname, PxpMessageBody::Error(error));
            }
            action::TUTTI_MODULE if request.action != action::CANCEL_ACTION => {
                self.lease_answer(&certname, manner, &request)
            }
            action::TUTTI_MODULE => {
                let params: action::CancelParams = action::decode(&request.params).unwrap();
                self.entry(&certname, &params.transaction_id, |entry| {
                    _ = entry.cancelled.send_replace(true)
                });
                action::encode(&json!({"cancelled": true}))
            }
            "status" => {
                let params: StatusParams = action::decode(&request.params).unwrap();
                action::encode(&self.status(&certname, manner, params.transaction_id))
            }
            other => panic!("unexpected module {other}"),
        };
        self.later(
            certname,
            PxpMessageBody::BlockingResponse(PxpResponse {
                transaction_id,
                results,
            }),
        );
    }

    fn status(&self, certname: &Certname, manner: &Manner, id: TransactionId) -> StatusResult {
        self.with(certname, |agent| {
            let mut status = match agent.spool.get(&id) {
                None => StatusResult::new(id, TransactionStatus::Unknown),
                Some(Entry { outcome: None, .. }) => {
                    StatusResult::new(id, TransactionStatus::Running)
                }
                Some(Entry {
                    outcome: Some(outcome),
                    puppet,
                    ..
                }) => {
                    let mut outcome = outcome.clone();
                    if let Some(words) = manner.errs {
                        outcome.stdout = Some(agents_error(words));
                        let mut status = StatusResult::finished(id.clone(), outcome);
                        status.status = TransactionStatus::Failure;
                        return status;
                    }
                    if *puppet {
                        outcome.stdout = Some(ran(manner, &outcome).to_string());
                    }
                    StatusResult::finished(id, outcome)
                }
            };
            status.spool_id = (!manner.stock).then_some(agent.spool_id);
            status
        })
    }

    fn later(self: &Arc<Self>, certname: Certname, body: PxpMessageBody) {
        let inner = Arc::clone(self);
        self.runtime
            .spawn(async move { inner.say(&certname, body).await });
    }

    async fn say(&self, certname: &Certname, body: PxpMessageBody) {
        let connected = self.with(certname, |agent| agent.connected);
        let (true, Some(port)) = (connected, self.port()) else {
            return;
        };
        let mut message = body.into_message(port.engine_address().clone(), PcpUri::agent(certname));
        message.has_replaced_bytes = self.manner(certname).replaced_bytes;
        port.send_to_engine(certname.clone(), message).await;
    }
}

// === impl Agent ===

impl Agent {
    fn capabilities(&self) -> Option<AgentCapabilities> {
        (!self.manner.stock && !self.manner.unannounced).then(|| AgentCapabilities {
            version: "1".to_owned(),
            live_output: true,
            acknowledged_results: true,
            cancel: true,
            facts: false,
            extended_requests: true,
            file_servers: true,
            leases: self.manner.leases,
            spool_id: Some(self.spool_id),
        })
    }
}

impl Entry {
    fn new() -> Self {
        Self {
            outcome: None,
            puppet: false,
            acknowledged: false,
            cancelled: watch::Sender::new(false),
            credit: watch::Sender::new(0),
            sent: 0,
        }
    }
}

/// What stands in the place of the output in a status answer.
fn agents_error(words: &str) -> String {
    let kind = "puppetlabs.pxp-agent/execution-error";
    json!({"_error": {"kind": kind, "details": {}, "msg": words}}).to_string()
}

/// The module's words for a Puppet run that ended so.
fn ran(manner: &Manner, outcome: &ActionResult) -> Value {
    let mut said = manner.puppet.clone().unwrap_or_else(|| {
        json!({
            "kind": "apply", "time": "2026-11-21T20:00:00.000000000+00:00",
            "transaction_uuid": "5f5a1b2c-0000-4000-8000-000000000001", "status": "unchanged",
            "environment": "production", "metrics": {"total": 7}, "exitcode": 0, "version": 1,
        })
    });
    if outcome.cancelled {
        said["cancelled"] = true.into();
    }
    said
}

fn end_of(
    manner: &Manner,
    transaction: &TransactionId,
    outcome: &ActionResult,
    puppet: bool,
) -> PxpMessageBody {
    let transaction_id = transaction.clone();
    if let Some(words) = manner.errs {
        return PxpMessageBody::Error(RpcError {
            transaction_id,
            id: pcp::MessageId::random(),
            description: words.to_owned(),
        });
    }
    if manner.loses_track {
        return PxpMessageBody::Error(RpcError {
            transaction_id,
            id: pcp::MessageId::random(),
            description: "the outcome is not known: its supervisor is gone".to_owned(),
        });
    }
    PxpMessageBody::NonBlockingResponse(PxpResponse {
        transaction_id,
        results: match puppet {
            true => action::encode(&ran(manner, outcome)),
            false => action::encode(outcome),
        },
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}
