//! Removal of a node: [`RunReports::forget_node`].
//!
//! Invariants: what is deleted here is deleted in one transaction; a removal that was interrupted can be
//! repeated; the command that deactivates the node in PuppetDB comes after all that wait for it.

use inventory::{PuppetDbCommand, QueryError};
use jiff::Timestamp;
use pcp::Certname;
use serde_json::json;
use store::StoreError;

use crate::compression::compress;
use crate::defaults::MAX_PAYLOAD_BYTES;
use crate::engine::{RunReports, run_blocking};
use crate::error::RecordRunError;
use crate::forwarding::DEACTIVATE_NODE;
use crate::puppetdb_format::to_wire_time;

/// The way in which PuppetDB learns that a node is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeDeactivation {
    /// The command waits in the queue for PuppetDB.
    Queued,
    /// PuppetDB took the command.
    Sent,
    /// No PuppetDB is configured.
    NoPuppetDb,
}

/// A node could not be removed completely.
#[derive(Debug, thiserror::Error)]
pub enum ForgetNodeError {
    /// The database could not be written.
    #[error("the data of the node cannot be deleted")]
    Store(#[from] StoreError),
    /// The command for PuppetDB could not be queued.
    #[error("the command that deactivates the node in PuppetDB cannot be queued")]
    Queue(#[source] RecordRunError),
    /// PuppetDB did not take the command.
    #[error("PuppetDB does not deactivate the node; repeat the command when PuppetDB answers")]
    PuppetDb(#[source] QueryError),
}

// === impl RunReports ===

impl RunReports {
    /// Deletes facts, reports, catalogs and exported resources of a node. `false`: the inventory of
    /// this server did not know it.
    pub async fn forget_node(&self, certname: &Certname) -> Result<bool, StoreError> {
        let inner = &self.inner;
        match inner.inventory.is_embedded() {
            true => inner.inventory.forget(certname).await,
            false => inner.store.delete_inventory_node(certname.as_str()).await,
        }
    }

    /// Deactivates a node in PuppetDB, if there is one.
    pub async fn deactivate_node(
        &self,
        certname: &Certname,
    ) -> Result<NodeDeactivation, ForgetNodeError> {
        let inner = &self.inner;
        if inner.inventory.is_embedded() {
            return Ok(NodeDeactivation::NoPuppetDb);
        }
        if let Some(queue) = inner.queue.clone() {
            let (node, make) = (certname.clone(), queue.clone());
            let command = run_blocking(move || {
                make.make_command(DEACTIVATE_NODE, &node, |by| payload(&node, by.at))
            });
            let command = command.await.map_err(ForgetNodeError::Queue)?;
            queue.replace(&command).await?;
            return Ok(NodeDeactivation::Queued);
        }
        let produced = Timestamp::now();
        let packed = compress(&payload(certname, produced), MAX_PAYLOAD_BYTES);
        let packed = packed.map_err(|error| ForgetNodeError::Queue(error.into()))?;
        let command = PuppetDbCommand {
            name: DEACTIVATE_NODE.name.to_owned(),
            version: DEACTIVATE_NODE.version,
            certname: certname.clone(),
            produced,
            payload_gzip: packed.unwrap_or_default(),
        };
        let sent = inner.inventory.submit_command(&command).await;
        sent.map_err(ForgetNodeError::PuppetDb)?;
        Ok(NodeDeactivation::Sent)
    }
}

fn payload(certname: &Certname, at: Timestamp) -> serde_json::Value {
    json!({"certname": certname.as_str(), "producer_timestamp": to_wire_time(at)})
}
