//! A broker with agents in memory, and their faults.
//!
//! [`Sim`] attaches to the fabric as a broker does. Each agent has a spool that outlives the
//! engine; [`Sim::executions`] is the ledger of what really ran.

mod answers;
mod leases;
mod trouble;

pub(crate) use self::leases::LeaseLie;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use fabric::{BrokerLink, BrokerPort, Fabric, FabricSendError};
use pcp::{Certname, PcpMessage, PcpUri};
use pxp::action::{ActionResult, TaskParams};
use pxp::{AgentCapabilities, PxpMessageBody, TransactionId};
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::Value;
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
    /// Lies in its answers about leases.
    pub(crate) lease_lie: Option<LeaseLie>,
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
    /// Messages that an agent that sleeps has received; `None`: it is awake.
    unread: Option<Vec<PcpMessage>>,
    /// The lease that it holds.
    lease: Option<Uuid>,
    /// The same, if it lasts until it is released.
    quarantine: Option<Uuid>,
    /// The lease without an end that the lease replaced.
    replaced: Option<Uuid>,
    /// The lease is one of another server's job.
    is_superseded: bool,
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
            unread: None,
            lease: None,
            quarantine: None,
            replaced: None,
            is_superseded: false,
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}
