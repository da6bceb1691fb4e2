//! A host with a real sshd, an `SshRunner` for it, and the engine's side of the fabric.

use std::time::Duration;

use environments::BlobStore;
use fabric::{CONNECTION_KEY, EngineInbox, Fabric, ssh_address};
use pcp::Certname;
use pki::seal::SealKey;
use pxp::action::{self, ActionResult, StatusResult};
use pxp::{PxpMessageBody, PxpRequest, TransactionId};
use serde_json::{Map, Value, json};
use ssh::{HostKeyCheck, HostKeys, SshConfig, SshConnection, SshConnections, SshRunner};
use store::{Store, StoreConfig};
use tempfile::TempDir;
use testkit::peers::Sshd;

pub(crate) struct World {
    pub(crate) directory: TempDir,
    pub(crate) sshd: Sshd,
    pub(crate) store: Store,
    pub(crate) connections: SshConnections,
    pub(crate) fabric: Fabric,
    pub(crate) inbox: EngineInbox,
    pub(crate) blobs: BlobStore,
    pub(crate) runner: SshRunner,
}

/// Outcome of a run.
#[derive(Debug)]
pub(crate) enum Outcome {
    Result(ActionResult),
    Error(String),
}

const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn map(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

pub(crate) fn certname() -> Certname {
    "bare.example".parse().unwrap()
}

impl World {
    /// The key of its host is known.
    pub(crate) async fn new() -> Self {
        let world = Self::with(HostKeyCheck::Strict).await;
        std::fs::write(world.known_hosts(), world.sshd.known_hosts().unwrap()).unwrap();
        world
    }

    pub(crate) async fn with(check: HostKeyCheck) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let sshd = Sshd::start().unwrap();
        let path = directory.path();
        let url = format!("sqlite:{}", path.join("db").display());
        let store = Store::open(&StoreConfig::new(url)).await.unwrap();
        let seal = SealKey::open_or_create(&path.join("seal.key")).unwrap();
        let connections = SshConnections::open(store.clone(), seal).await.unwrap();
        let blobs = BlobStore::open(path.join("blobs")).unwrap();
        let (fabric, inbox) = Fabric::new("pcp://orch.example/server".parse().unwrap());
        let host_keys = HostKeys::new(path.join("known_hosts"), check);
        let config = SshConfig::new(host_keys);
        let runner = SshRunner::start(config, &fabric, connections.clone(), blobs.clone());
        Self {
            directory,
            sshd,
            store,
            connections,
            fabric,
            inbox,
            blobs,
            runner,
        }
    }

    pub(crate) fn known_hosts(&self) -> std::path::PathBuf {
        self.directory.path().join("known_hosts")
    }

    /// A connection to the host, with `more` keys added to the default ones.
    pub(crate) fn connection(&self, more: Value) -> SshConnection {
        let mut all = map(json!({
            "user": self.sshd.user(),
            "hostname": "127.0.0.1",
            "port": self.sshd.port(),
            "private-key-content": self.sshd.private_key().unwrap(),
            "tmpdir": self.sshd.tmp(),
        }));
        for (key, value) in map(more) {
            match value {
                Value::Null => all.remove(&key),
                value => all.insert(key, value),
            };
        }
        SshConnection::read_flat(all).unwrap()
    }

    /// Requests `run` of a module with a connection in the request.
    pub(crate) async fn ask(
        &self,
        connection: &SshConnection,
        module: &str,
        params: Value,
    ) -> TransactionId {
        self.ask_for(connection, (module, "run"), params).await
    }

    /// Requests an action of a module with a connection in the request.
    pub(crate) async fn ask_for(
        &self,
        connection: &SshConnection,
        what: (&str, &str),
        params: Value,
    ) -> TransactionId {
        let mut params = map(params);
        let sealed = self.connections.seal(connection);
        params.insert(CONNECTION_KEY.to_owned(), sealed.into());
        self.request(&certname(), what, params).await
    }

    pub(crate) async fn ask_as_known(
        &self,
        certname: &Certname,
        module: &str,
        params: Map<String, Value>,
    ) -> TransactionId {
        self.request(certname, (module, "run"), params).await
    }

    async fn request(
        &self,
        certname: &Certname,
        (module, name): (&str, &str),
        params: Map<String, Value>,
    ) -> TransactionId {
        let transaction_id = TransactionId::random();
        let body = PxpMessageBody::NonBlockingRequest(PxpRequest {
            transaction_id: transaction_id.clone(),
            module: module.to_owned(),
            action: name.to_owned(),
            params: action::encode(&params),
            notify_outcome: Some(true),
            extended: None,
            file_servers: Vec::new(),
        });
        self.send(certname, body).await;
        transaction_id
    }

    pub(crate) async fn send(&self, certname: &Certname, body: PxpMessageBody) {
        let target = ssh_address(certname).unwrap();
        let message = body.into_message(target, self.fabric.address().clone());
        self.fabric.send(message).await.unwrap();
    }

    /// The next message that was sent on behalf of a node.
    pub(crate) async fn hear(&mut self) -> PxpMessageBody {
        let inbound = tokio::time::timeout(PATIENCE, self.inbox.recv()).await;
        let message = inbound.expect("nothing was said in time").unwrap().message;
        assert!(message.sender.is_some());
        PxpMessageBody::decode(&message.message_type, message.data.as_deref()).unwrap()
    }

    /// Waits for the outcome of a transaction, after its provisional response.
    pub(crate) async fn outcome(&mut self, transaction: &TransactionId) -> Outcome {
        loop {
            let body = self.hear().await;
            if body.transaction_id() != transaction {
                continue;
            }
            match body {
                PxpMessageBody::NonBlockingResponse(response) => {
                    return Outcome::Result(action::decode(&response.results).unwrap());
                }
                PxpMessageBody::Error(error) => return Outcome::Error(error.description),
                _ => {}
            }
        }
    }

    /// Runs a shell command.
    pub(crate) async fn command(&mut self, connection: &SshConnection, line: &str) -> Outcome {
        let params = json!({"command": line});
        let transaction = self.ask(connection, "command", params).await;
        self.outcome(&transaction).await
    }

    /// The parameters of a request that runs `script` as a task.
    pub(crate) fn task(&self, script: &str, input: Value, method: &str) -> Value {
        let sha256 = self
            .blobs
            .store_stream(&mut script.as_bytes(), "a test")
            .unwrap();
        json!({
            "task": "probe",
            "input": input,
            "metadata": {"input_method": method},
            "files": [{
                "filename": "probe.sh", "sha256": sha256.to_string(),
                "uri": {"path": "/x", "params": {}},
            }],
        })
    }

    pub(crate) async fn run_task(
        &mut self,
        connection: &SshConnection,
        script: &str,
        input: Value,
        method: &str,
    ) -> Outcome {
        let params = self.task(script, input, method);
        let transaction = self.ask(connection, "task", params).await;
        self.outcome(&transaction).await
    }

    /// Queries the status of a transaction.
    pub(crate) async fn status(&mut self, transaction: &TransactionId) -> StatusResult {
        let query = TransactionId::random();
        let body = PxpMessageBody::BlockingRequest(PxpRequest {
            transaction_id: query.clone(),
            module: "status".to_owned(),
            action: "query".to_owned(),
            params: action::encode(&json!({"transaction_id": transaction})),
            notify_outcome: None,
            extended: None,
            file_servers: Vec::new(),
        });
        self.send(&certname(), body).await;
        loop {
            if let PxpMessageBody::BlockingResponse(response) = self.hear().await {
                assert_eq!(response.transaction_id, query);
                return action::decode(&response.results).unwrap();
            }
        }
    }

    /// Directories that runs have left on the host.
    pub(crate) fn left_behind(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.sshd.tmp()).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }
}

impl Outcome {
    pub(crate) fn result(self) -> ActionResult {
        match self {
            Self::Result(result) => result,
            Self::Error(words) => panic!("it was not run: {words}"),
        }
    }

    pub(crate) fn error(self) -> String {
        match self {
            Self::Error(words) => words,
            Self::Result(result) => panic!("it was run: {result:?}"),
        }
    }
}
