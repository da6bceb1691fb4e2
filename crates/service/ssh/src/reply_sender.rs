//! Speaking to the engine in the name of a node: [`NodeReplySender`].

use std::fmt;
use std::sync::Arc;

use fabric::AgentlessNodePort;
use pcp::{Certname, PcpUri};
use pxp::{PxpMessageBody, TransactionId};

/// The voice of one node in one transaction.
#[derive(Clone)]
pub(crate) struct NodeReplySender {
    pub(crate) port: Arc<AgentlessNodePort>,
    pub(crate) certname: Certname,
    /// The node's address.
    pub(crate) address: PcpUri,
    pub(crate) transaction: TransactionId,
}

impl NodeReplySender {
    /// Waits for room. An engine that is gone needs no news.
    pub(crate) async fn send(&self, body: PxpMessageBody) {
        let engine = self.port.engine_address().clone();
        let message = body.into_message(engine, self.address.clone());
        let _ = self
            .port
            .send_to_engine(self.certname.clone(), message)
            .await;
    }
}

impl fmt::Debug for NodeReplySender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Voice")
            .field("certname", &self.certname)
            .field("transaction", &self.transaction)
            .finish_non_exhaustive()
    }
}
