//! Nodes in memory, behind the real job engine: [`Nodes`] run every task at once, unless they are
//! held. Also used by the example that measures.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use environments::{BlobStore, CodeReader, EnvironmentDir};
use fabric::{BrokerLink, BrokerPort, Fabric, FabricSendError};
use jobs::{Jobs, JobsConfig};
use pcp::{Certname, PcpMessage, PcpUri};
use pki::seal::SealKey;
use pxp::action::{self, ActionResult};
use pxp::{AgentCapabilities, PxpMessageBody, PxpRequest, PxpResponse};
use store::Store;
use tokio::sync::watch;

/// The sensitive output of the task `test::secret`.
pub(crate) const CANARY: &str = "canary-7f3a-hunter2";

#[derive(Clone)]
pub(crate) struct Nodes(Arc<Inner>);

struct Inner {
    port: Mutex<Option<Arc<BrokerPort>>>,
    /// The number of runs of each transaction.
    ran: Mutex<HashMap<String, usize>>,
    go: watch::Sender<bool>,
}

struct Link(Nodes);

impl Nodes {
    pub(crate) fn attach(fabric: &Fabric, held: bool, names: &[&str]) -> Self {
        let nodes = Self(Arc::new(Inner {
            port: Mutex::default(),
            ran: Mutex::default(),
            go: watch::Sender::new(!held),
        }));
        let broker = "pcp://broker.example.com/server".parse().unwrap();
        let port = Arc::new(fabric.attach_broker(broker, Arc::new(Link(nodes.clone()))));
        *nodes.0.port.lock().unwrap() = Some(Arc::clone(&port));
        for name in names {
            let capabilities = AgentCapabilities {
                version: "1".to_owned(),
                live_output: false,
                acknowledged_results: false,
                cancel: false,
                facts: false,
                extended_requests: false,
                file_servers: false,
                leases: false,
                spool_id: None,
            };
            port.add_node(name.parse().unwrap(), Some(Arc::new(capabilities)));
        }
        nodes
    }

    pub(crate) fn let_go(&self) {
        self.0.go.send_replace(true);
    }

    /// The number of runs of each transaction.
    pub(crate) fn ran(&self) -> Vec<usize> {
        self.0.ran.lock().unwrap().values().copied().collect()
    }

    async fn run(self, certname: Certname, request: PxpRequest) {
        let transaction_id = request.transaction_id;
        let name = transaction_id.to_string();
        *self.0.ran.lock().unwrap().entry(name).or_default() += 1;
        let id = transaction_id.clone();
        self.say(
            &certname,
            PxpMessageBody::ProvisionalResponse { transaction_id: id },
        )
        .await;
        let mut go = self.0.go.subscribe();
        go.wait_for(|go| *go).await.unwrap();
        let told = match request.params.get().contains("test::secret") {
            true => serde_json::json!({"_sensitive": CANARY}),
            false => serde_json::json!({"done": true}),
        };
        let result = ActionResult {
            exitcode: 0,
            stdout: Some(told.to_string()),
            ..ActionResult::default()
        };
        let results = action::encode(&result);
        let response = PxpResponse {
            transaction_id,
            results,
        };
        self.say(&certname, PxpMessageBody::NonBlockingResponse(response))
            .await;
    }

    async fn say(&self, certname: &Certname, body: PxpMessageBody) {
        let port = self.0.port.lock().unwrap().clone().unwrap();
        let message = body.into_message(port.engine_address().clone(), PcpUri::agent(certname));
        port.send_to_engine(certname.clone(), message).await;
    }
}

#[async_trait]
impl BrokerLink for Link {
    async fn deliver(&self, message: PcpMessage) -> Result<(), FabricSendError> {
        let target = message.target.as_ref().unwrap().common_name().to_owned();
        let body = PxpMessageBody::decode(&message.message_type, message.data.as_deref());
        if let PxpMessageBody::NonBlockingRequest(request) = body.unwrap() {
            tokio::spawn(self.0.clone().run(target.parse().unwrap(), request));
        }
        Ok(())
    }

    fn has_session(&self, _: &Certname) -> bool {
        false
    }
}

/// Creates a job engine over these nodes, with a module `test` that has a task without effect and
/// one that returns a secret.
pub(crate) async fn engine(
    directory: &Path,
    store: &Store,
    held: bool,
    names: &[&str],
) -> (Jobs, Nodes) {
    let tasks = directory.join("code/environments/production/modules/test/tasks");
    std::fs::create_dir_all(&tasks).unwrap();
    std::fs::write(tasks.join("init.sh"), "#!/bin/sh\n").unwrap();
    std::fs::write(tasks.join("init.json"), "{}").unwrap();
    std::fs::write(tasks.join("secret.sh"), "#!/bin/sh\n").unwrap();
    let server: Certname = "tutti.example.com".parse().unwrap();
    let (fabric, inbox) = Fabric::new(PcpUri::server(&server));
    let code: Arc<dyn CodeReader> = Arc::new(EnvironmentDir::new(directory.join("code")));
    let blobs = BlobStore::open(directory.join("blobs")).unwrap();
    let seal = SealKey::open_or_create(&directory.join("seal")).unwrap();
    let config = JobsConfig {
        prune_after: None,
        ..JobsConfig::default()
    };
    let nodes = Nodes::attach(&fabric, held, names);
    let jobs = Jobs::start(config, store.clone(), fabric, inbox, code, blobs, seal);
    (Box::pin(jobs).await.unwrap(), nodes)
}
