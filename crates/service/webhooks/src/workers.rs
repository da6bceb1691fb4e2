//! The tasks of the webhooks: [`DeliveryWorkers`] starts and stops them.

use std::collections::HashMap;

use store::{Store, WebhookRow};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::deliver::DeliveryClient;
use crate::worker::{DeliveryWorker, WorkerSettings};

#[derive(Debug)]
pub(crate) struct DeliveryWorkers {
    store: Store,
    sender: DeliveryClient,
    stop: CancellationToken,
    running: Mutex<HashMap<String, RunningWorker>>,
}

#[derive(Debug)]
struct RunningWorker {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

// === impl DeliveryWorkers ===

impl DeliveryWorkers {
    pub(crate) fn new(store: Store, sender: DeliveryClient) -> Self {
        Self {
            store,
            sender,
            stop: CancellationToken::new(),
            running: Mutex::new(HashMap::new()),
        }
    }

    /// Starts the worker of a webhook; a running one is stopped first.
    pub(crate) async fn start(&self, row: &WebhookRow, parts: WorkerSettings) {
        let mut running = self.running.lock().await;
        if let Some(before) = running.remove(&row.id) {
            before.end().await;
        }
        let stop = self.stop.child_token();
        let (store, sender) = (self.store.clone(), self.sender.clone());
        let worker = DeliveryWorker::new(row, parts, store, sender, stop.clone());
        let task = tokio::spawn(worker.run());
        running.insert(row.id.clone(), RunningWorker { stop, task });
    }

    /// Stops the worker of a webhook, if there is one.
    pub(crate) async fn end(&self, id: &str) {
        if let Some(running) = self.running.lock().await.remove(id) {
            running.end().await;
        }
    }

    /// Stops all workers.
    pub(crate) async fn shutdown(&self) {
        self.stop.cancel();
        for (_, running) in self.running.lock().await.drain() {
            running.end().await;
        }
    }
}

// === impl RunningWorker ===

impl RunningWorker {
    async fn end(self) {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the task of a webhook ended badly");
        }
    }
}
