//! A fake broker: [`Broker`] records the messages of the engine, and can be disconnected.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actions::{ActionEngine, EngineConfig, NotSent, PxpOutbox};
use async_trait::async_trait;
use pcp::{MessageId, PcpUri};
use pxp::action::{ActionResult, StatusResult};
use pxp::{PxpMessageBody, PxpRequest, PxpResponse, TransactionId};
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc, watch};

/// Far longer than any step of these tests; one that waits so long has failed.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn orchestrator() -> PcpUri {
    "pcp://orch.example.com:8143/server".parse().unwrap()
}

/// The engine's peer.
pub(super) struct Broker {
    sent: mpsc::UnboundedSender<PxpMessageBody>,
    received: Mutex<mpsc::UnboundedReceiver<PxpMessageBody>>,
    connected: watch::Sender<bool>,
    max_results_bytes: AtomicUsize,
}

#[async_trait]
impl PxpOutbox for Broker {
    async fn send(&self, _to: &PcpUri, body: PxpMessageBody) -> Result<(), NotSent> {
        if !*self.connected.borrow() {
            return Err(NotSent::NotConnected);
        }
        let size_bytes = match &body {
            PxpMessageBody::BlockingResponse(response)
            | PxpMessageBody::NonBlockingResponse(response) => response.results.get().len(),
            PxpMessageBody::Error(error) => error.description.len(),
            _ => 0,
        };
        let limit_bytes = self.max_results_bytes.load(Ordering::SeqCst);
        if size_bytes > limit_bytes {
            return Err(NotSent::TooLarge {
                size_bytes,
                limit_bytes,
            });
        }
        self.sent.send(body).unwrap();
        Ok(())
    }

    fn connected(&self) -> watch::Receiver<bool> {
        self.connected.subscribe()
    }
}

impl Broker {
    pub(super) fn new() -> Arc<Self> {
        let (sent, received) = mpsc::unbounded_channel();
        let connected = watch::Sender::new(true);
        Arc::new(Self {
            sent,
            received: Mutex::new(received),
            connected,
            max_results_bytes: AtomicUsize::new(usize::MAX),
        })
    }

    /// From now on, refuses results and errors larger than this.
    pub(super) fn limit_results(&self, bytes: usize) {
        self.max_results_bytes.store(bytes, Ordering::SeqCst);
    }

    pub(super) fn connect(&self, connected: bool) {
        self.connected.send_replace(connected);
    }

    /// Waits for the next message.
    pub(super) async fn next(&self) -> PxpMessageBody {
        let mut received = self.received.lock().await;
        tokio::time::timeout(PATIENCE, received.recv())
            .await
            .expect("no message came")
            .unwrap()
    }

    /// The next message, if there is one already.
    pub(super) async fn already(&self) -> Option<PxpMessageBody> {
        self.received.lock().await.try_recv().ok()
    }

    pub(super) async fn provisional(&self) -> TransactionId {
        match self.next().await {
            PxpMessageBody::ProvisionalResponse { transaction_id } => transaction_id,
            other => panic!("no provisional response: {other:?}"),
        }
    }

    /// The results of the next response, of either kind.
    pub(super) async fn results(&self) -> Value {
        match self.next().await {
            PxpMessageBody::BlockingResponse(PxpResponse { results, .. })
            | PxpMessageBody::NonBlockingResponse(PxpResponse { results, .. }) => {
                serde_json::from_str(results.get()).unwrap()
            }
            other => panic!("no response: {other:?}"),
        }
    }

    pub(super) async fn result(&self) -> ActionResult {
        serde_json::from_value(self.results().await).unwrap()
    }

    pub(super) async fn error(&self) -> String {
        match self.next().await {
            PxpMessageBody::Error(error) => error.description,
            other => panic!("no error: {other:?}"),
        }
    }
}

/// A node: directories, a broker, and an engine that can be restarted.
pub(super) struct Node {
    pub(super) dir: tempfile::TempDir,
    pub(super) broker: Arc<Broker>,
    pub(super) config: EngineConfig,
    pub(super) engine: ActionEngine,
}

impl Node {
    pub(super) async fn start() -> Self {
        Self::start_with(|_, _| {}).await
    }

    /// A node with settings changed by `change`, which gets the node's directory.
    pub(super) async fn start_with(change: impl FnOnce(&mut EngineConfig, &Path)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut config = EngineConfig::new(
            dir.path().join("spool"),
            dir.path().join("tasks-cache"),
            vec![wrapper().into_os_string()],
        );
        config.stop_grace = Duration::from_secs(2);
        change(&mut config, dir.path());
        let broker = Broker::new();
        let engine = ActionEngine::start(config.clone(), Arc::clone(&broker) as _)
            .await
            .unwrap();
        Self {
            dir,
            broker,
            config,
            engine,
        }
    }

    /// Starts another engine over the same directories. The old engine's tasks end, as they would
    /// with its process.
    pub(super) async fn restart(&mut self) {
        self.engine.shutdown(PATIENCE).await;
        self.engine = ActionEngine::start(self.config.clone(), Arc::clone(&self.broker) as _)
            .await
            .unwrap();
    }

    pub(super) fn entry(&self, id: &TransactionId) -> PathBuf {
        self.config.spool_dir.join(id.as_str())
    }

    pub(super) fn handle(&self, body: PxpMessageBody) {
        self.engine
            .handle(orchestrator(), MessageId::random(), body);
    }

    pub(super) fn blocking(&self, module: &str, action: &str, params: &Value) -> TransactionId {
        let request = request(module, action, params, None);
        let id = request.transaction_id.clone();
        self.handle(PxpMessageBody::BlockingRequest(request));
        id
    }

    /// Sends a non-blocking request.
    pub(super) fn non_blocking(&self, module: &str, action: &str, params: &Value) -> TransactionId {
        let request = request(module, action, params, Some(true));
        let id = request.transaction_id.clone();
        self.handle(PxpMessageBody::NonBlockingRequest(request));
        id
    }

    /// Starts a command and waits until it was accepted.
    pub(super) async fn command(&self, command: &str) -> TransactionId {
        let id = self.non_blocking("command", "run", &json!({ "command": command }));
        assert_eq!(self.broker.provisional().await, id);
        id
    }

    pub(super) async fn status(&self, id: &TransactionId) -> StatusResult {
        self.blocking("status", "query", &json!({ "transaction_id": id }));
        serde_json::from_value(self.broker.results().await).unwrap()
    }
}

pub(super) fn request(
    module: &str,
    action: &str,
    params: &Value,
    notify_outcome: Option<bool>,
) -> PxpRequest {
    PxpRequest {
        transaction_id: TransactionId::random(),
        module: module.to_owned(),
        action: action.to_owned(),
        params: serde_json::value::to_raw_value(params).unwrap(),
        notify_outcome,
        extended: Some(true),
        file_servers: Vec::new(),
    }
}

/// The program in `examples/run-action.rs`, which cargo builds with the tests.
pub(super) fn wrapper() -> PathBuf {
    let deps = std::env::current_exe().unwrap();
    let profile = deps.parent().and_then(Path::parent).unwrap();
    let wrapper = profile.join("examples/run-action");
    assert!(
        wrapper.exists(),
        "{} is not built: run `cargo test -p actions`",
        wrapper.display()
    );
    wrapper
}

/// Waits for a condition that another process brings about. There is no event to wait for, so it
/// polls; the interval is not under test.
pub(super) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !holds() {
        assert!(tokio::time::Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
