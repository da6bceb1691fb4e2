//! Agents in memory, connected through a broker's link.
//!
//! An agent runs every task at once, unless it is held; it sends live output up to its credit.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use fabric::{BrokerLink, BrokerPort, Fabric, FabricSendError};
use pcp::{Certname, PcpMessage, PcpUri};
use pxp::action::{self, ActionResult};
use pxp::{
    AgentCapabilities, OutputPiece, ProcessStream, PxpMessageBody, PxpRequest, PxpResponse,
    TransactionId,
};
use serde_json::Value;
use tokio::sync::watch;

/// The behaviour of an agent for every task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manner {
    /// Result of a task; by default nothing on standard output.
    pub(crate) result: ActionResult,
    /// Live output, sent before the end of the task.
    pub(crate) writes: Vec<u8>,
    /// True if a task ends only after [`Agents::let_go`].
    pub(crate) held: bool,
    /// Result of a Puppet run; `None`: that of a task.
    pub(crate) puppet: Option<Value>,
}

#[derive(Clone)]
pub(crate) struct Agents(Arc<Inner>);

struct Inner {
    port: Mutex<Option<Arc<BrokerPort>>>,
    manners: Mutex<HashMap<Certname, Manner>>,
    /// Nodes that have a session with the broker.
    sessions: Mutex<HashSet<Certname>>,
    credits: Mutex<HashMap<TransactionId, watch::Sender<u64>>>,
    written: watch::Sender<u64>,
    go: watch::Sender<bool>,
}

struct Link(Agents);

impl Agents {
    pub(crate) fn attach(fabric: &Fabric) -> Self {
        let agents = Self(Arc::new(Inner {
            port: Mutex::default(),
            manners: Mutex::default(),
            sessions: Mutex::default(),
            credits: Mutex::default(),
            written: watch::Sender::new(0),
            go: watch::Sender::new(false),
        }));
        let broker = "pcp://broker.example.com/server"
            .parse()
            .expect("an address");
        let port = fabric.attach_broker(broker, Arc::new(Link(agents.clone())));
        *lock(&agents.0.port) = Some(Arc::new(port));
        agents
    }

    pub(crate) fn add(&self, certname: &str, manner: Manner) {
        let certname: Certname = certname.parse().expect("a certname");
        lock(&self.0.manners).insert(certname.clone(), manner);
        lock(&self.0.sessions).insert(certname.clone());
        let capabilities = AgentCapabilities {
            version: "1".to_owned(),
            live_output: true,
            acknowledged_results: true,
            cancel: true,
            facts: false,
            extended_requests: false,
            file_servers: false,
            leases: false,
            spool_id: None,
        };
        self.port().add_node(certname, Some(Arc::new(capabilities)));
    }

    /// Ends the session of an agent.
    pub(crate) fn leaves(&self, certname: &str) {
        let certname: Certname = certname.parse().expect("a certname");
        lock(&self.0.sessions).remove(&certname);
        self.port().remove_node(&certname);
    }

    pub(crate) fn let_go(&self) {
        self.0.go.send_replace(true);
    }

    /// Number of bytes of live output that all agents have sent.
    pub(crate) fn written(&self) -> watch::Receiver<u64> {
        self.0.written.subscribe()
    }

    fn port(&self) -> Arc<BrokerPort> {
        lock(&self.0.port).clone().expect("attached")
    }

    async fn say(&self, certname: &Certname, body: PxpMessageBody) {
        let port = self.port();
        let message = body.into_message(port.engine_address().clone(), PcpUri::agent(certname));
        port.send_to_engine(certname.clone(), message).await;
    }

    async fn blocking(self, certname: Certname, request: PxpRequest) {
        let results = serde_json::value::to_raw_value(&serde_json::json!({"request_hops": []}));
        let results = results.expect("plain JSON");
        let response = PxpResponse {
            transaction_id: request.transaction_id,
            results,
        };
        self.say(&certname, PxpMessageBody::BlockingResponse(response))
            .await;
    }

    async fn run(self, certname: Certname, manner: Manner, request: PxpRequest) {
        let transaction_id = request.transaction_id;
        let id = transaction_id.clone();
        self.say(
            &certname,
            PxpMessageBody::ProvisionalResponse { transaction_id: id },
        )
        .await;
        self.write(&certname, &transaction_id, &manner.writes).await;
        if manner.held {
            let mut go = self.0.go.subscribe();
            go.wait_for(|go| *go)
                .await
                .expect("the sender lives as long");
        }
        let results = match &manner.puppet {
            Some(said) if request.module == "pxp-module-puppet" => action::encode(said),
            _ => action::encode(&manner.result),
        };
        let response = PxpResponse {
            transaction_id,
            results,
        };
        self.say(&certname, PxpMessageBody::NonBlockingResponse(response))
            .await;
    }

    async fn write(&self, certname: &Certname, transaction_id: &TransactionId, bytes: &[u8]) {
        let mut credit = self.credit(transaction_id).subscribe();
        let mut offset = 0;
        while offset < bytes.len() {
            let leave = credit.wait_for(|until| *until > offset as u64).await;
            let until = usize::try_from(*leave.expect("the sender lives")).expect("64 bits");
            let end = bytes.len().min(until).min(offset + 4_096);
            let output = OutputPiece {
                transaction_id: transaction_id.clone(),
                stream: ProcessStream::Stdout,
                offset: offset as u64,
                data: Bytes::copy_from_slice(&bytes[offset..end]),
            };
            self.say(certname, PxpMessageBody::Output(output)).await;
            self.0
                .written
                .send_modify(|written| *written += (end - offset) as u64);
            offset = end;
        }
    }

    fn credit(&self, transaction_id: &TransactionId) -> watch::Sender<u64> {
        let mut credits = lock(&self.0.credits);
        credits
            .entry(transaction_id.clone())
            .or_insert_with(|| watch::Sender::new(0))
            .clone()
    }
}

#[async_trait]
impl BrokerLink for Link {
    async fn deliver(&self, message: PcpMessage) -> Result<(), FabricSendError> {
        let target = message
            .target
            .as_ref()
            .expect("a target")
            .common_name()
            .to_owned();
        let certname: Certname = target.parse().expect("a certname");
        let manner = lock(&self.0.0.manners)
            .get(&certname)
            .cloned()
            .expect("a known agent");
        let body = PxpMessageBody::decode(&message.message_type, message.data.as_deref());
        match body.expect("a body of PXP") {
            PxpMessageBody::BlockingRequest(request) => {
                tokio::spawn(self.0.clone().blocking(certname, request));
            }
            PxpMessageBody::NonBlockingRequest(request) => {
                tokio::spawn(self.0.clone().run(certname, manner, request));
            }
            PxpMessageBody::OutputCredit {
                transaction_id,
                until,
            } => {
                self.0.credit(&transaction_id).send_replace(until);
            }
            _ => {}
        }
        Ok(())
    }

    fn has_session(&self, certname: &Certname) -> bool {
        lock(&self.0.0.sessions).contains(certname)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
