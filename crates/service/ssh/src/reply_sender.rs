//! Messages to the engine on behalf of a node: [`NodeReplySender`].

use std::sync::Arc;

use fabric::AgentlessNodePort;
use partial_debug::partial_debug;
use pcp::{Certname, PcpUri};
use pxp::{PxpMessageBody, TransactionId};

/// Sends messages of one transaction in the name of its node.
#[derive(Clone)]
pub(crate) struct NodeReplySender {
    pub(crate) port: Arc<AgentlessNodePort>,
    pub(crate) certname: Certname,
    /// PCP address of the node.
    pub(crate) address: PcpUri,
    pub(crate) transaction: TransactionId,
}

impl NodeReplySender {
    /// Sends a message; waits while the engine's queue is full. Without an engine the message is
    /// dropped.
    pub(crate) async fn send(&self, body: PxpMessageBody) {
        let engine = self.port.engine_address().clone();
        let message = body.into_message(engine, self.address.clone());
        let _ = self
            .port
            .send_to_engine(self.certname.clone(), message)
            .await;
    }
}

partial_debug!(NodeReplySender {
    certname,
    transaction
});
