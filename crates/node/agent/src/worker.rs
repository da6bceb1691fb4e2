//! The engine in the form that the connection uses: [`EngineWorker`].
//!
//! Invariant: announced capabilities are read from the engine each time, and a connection is closed
//! because of a change only once an orchestrator has shown that it knows Tutti's extensions. A
//! stock one never reads the spool's id, and would see a needless disconnection.

use std::sync::atomic::{AtomicBool, Ordering};

use actions::ActionEngine;
use pcp::{MessageId, PcpUri};
use pxp::{AgentCapabilities, PxpMessageBody};

use crate::connection::CapabilitySource;
use crate::intake::RequestHandler;

/// Handles requests and provides the agent's capabilities.
#[derive(Debug)]
pub(crate) struct EngineWorker {
    engine: ActionEngine,
    is_heeded: AtomicBool,
}

impl EngineWorker {
    pub(crate) fn new(engine: ActionEngine) -> Self {
        Self {
            engine,
            is_heeded: AtomicBool::new(false),
        }
    }
}

impl RequestHandler for EngineWorker {
    fn handle(&self, sender: PcpUri, message_id: MessageId, body: PxpMessageBody) {
        // An orchestrator that acknowledges outcomes also uses the spool's id.
        if matches!(body, PxpMessageBody::OutcomeAck { .. }) {
            self.is_heeded.store(true, Ordering::Relaxed);
        }
        self.engine.handle(sender, message_id, body);
    }
}

impl CapabilitySource for EngineWorker {
    fn capabilities(&self) -> AgentCapabilities {
        self.engine.capabilities()
    }

    fn is_heeded(&self) -> bool {
        self.is_heeded.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use actions::EngineConfig;

    use super::*;
    use crate::connection::LiveOutbox;

    #[tokio::test]
    async fn a_wiped_spool_is_announced_as_another_and_heeded_by_who_acknowledges() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let spool = dir.path().join("spool");
        let config = EngineConfig::new(spool.clone(), dir.path().join("cache"), vec!["x".into()]);
        let outbox = Arc::new(LiveOutbox::new(1024));
        let engine = ActionEngine::start(config, outbox)
            .await
            .expect("an engine");
        let worker = EngineWorker::new(engine.clone());
        let first = worker.capabilities();
        assert!(first.spool_id.is_some());
        assert_eq!(worker.capabilities(), first);
        std::fs::remove_file(spool.join("+spool-id")).expect("the spool's id");
        let second = worker.capabilities();
        assert!(second.spool_id.is_some() && second != first);

        assert!(!worker.is_heeded());
        let sender: PcpUri = "pcp://orch.example/server".parse().expect("an address");
        let acknowledgement = PxpMessageBody::OutcomeAck {
            transaction_id: "1".parse().expect("an id"),
        };
        worker.handle(sender, MessageId::random(), acknowledgement);
        assert!(worker.is_heeded());
        engine.shutdown(Duration::from_secs(20)).await;
    }
}
