//! Queries of the inventory from threads that compile: [`BlockingInventory`].
//!
//! Invariant: the query runs in the runtime of the server, and the thread waits for a bounded time.

use std::sync::mpsc;

use inventory::{Inventory, NodeQuery, QueryError};
use serde_json::Value as Json;
use tokio::runtime::Handle;

use crate::defaults::QUERY_WAIT_MAX;

/// An inventory that is queried from a thread outside of its runtime.
#[derive(Debug, Clone)]
pub(super) struct BlockingInventory {
    inventory: Inventory,
    runtime: Handle,
}

impl BlockingInventory {
    pub(super) fn new(inventory: Inventory, runtime: Handle) -> Self {
        Self { inventory, runtime }
    }

    /// The URLs of the servers, for messages.
    pub(super) fn location(&self) -> String {
        self.inventory.location()
    }

    /// The rows of an answer, or the cause why there are none. The calling thread waits for it, so
    /// it must not be one of the runtime.
    pub(super) fn rows(&self, query: NodeQuery) -> Result<Vec<Json>, String> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let inventory = self.inventory.clone();
        let task = self.runtime.spawn(async move {
            // the thread that waits may have given up
            let _ = sender.send(inventory.query(&query).await);
        });
        match receiver.recv_timeout(QUERY_WAIT_MAX) {
            Ok(answer) => answer.map_err(|error| cause(&error)),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                task.abort();
                Err(format!("no answer within {} s", QUERY_WAIT_MAX.as_secs()))
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(QueryError::ShuttingDown.to_string()),
        }
    }
}

/// The cause without the address, which messages name before it.
fn cause(error: &QueryError) -> String {
    match error {
        QueryError::Unreachable { cause, .. } => format!("{cause}; is PuppetDB running there?"),
        QueryError::Certificate { cause, .. } => {
            format!("the TLS certificates do not fit: {cause}")
        }
        QueryError::Timeout { after, .. } => format!("no answer within {} s", after.as_secs()),
        QueryError::Garbage { what, .. } => format!("the answer cannot be read: {what}"),
        QueryError::Refused { status, words, .. } => format!("HTTP {status}: {words}"),
        other => other.to_string(),
    }
}
