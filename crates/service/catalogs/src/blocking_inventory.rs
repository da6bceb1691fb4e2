//! Queries of the inventory from threads that compile: [`BlockingInventory`].
//!
//! Invariant: an error is one line that names the cause.

use std::sync::Arc;

use compiler::CompileInterrupt;
use inventory::{Inventory, NodeQuery, QueryError};
use serde_json::Value as Json;
use tokio::runtime::Handle;

use crate::waiting::wait_for;

/// An inventory that is queried from a thread outside of its runtime.
#[derive(Debug, Clone)]
pub(crate) struct BlockingInventory {
    inventory: Inventory,
    runtime: Handle,
}

impl BlockingInventory {
    pub(crate) fn new(inventory: Inventory, runtime: Handle) -> Self {
        Self { inventory, runtime }
    }

    /// The URLs of the servers, for messages.
    pub(crate) fn location(&self) -> String {
        self.inventory.location()
    }

    /// The rows of an answer, or the cause why there are none. `interrupt` ends the query.
    pub(crate) fn rows(
        &self,
        query: NodeQuery,
        interrupt: Option<&Arc<CompileInterrupt>>,
    ) -> Result<Vec<Json>, String> {
        let inventory = self.inventory.clone();
        let answer = wait_for(&self.runtime, interrupt, async move {
            inventory.query(&query).await
        });
        let answer = answer.map_err(|end| end.to_string())?;
        answer.map_err(|error| cause(&error))
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
