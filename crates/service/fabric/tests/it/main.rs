//! The fabric with brokers that only record the messages for them.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod hub;
mod remote;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use fabric::{BrokerLink, FabricSendError};
use pcp::{Certname, PcpMessage, PcpUri};

/// Records the messages to deliver.
#[derive(Default)]
struct Recorder {
    delivered: Mutex<Vec<PcpMessage>>,
    /// Certnames with a session.
    sessions: Mutex<HashSet<Certname>>,
}

#[async_trait::async_trait]
impl BrokerLink for Recorder {
    async fn deliver(&self, message: PcpMessage) -> Result<(), FabricSendError> {
        self.delivered.lock().unwrap().push(message);
        Ok(())
    }

    fn has_session(&self, certname: &Certname) -> bool {
        self.sessions.lock().unwrap().contains(certname)
    }
}

fn recorder() -> Arc<Recorder> {
    Arc::default()
}

fn uri(text: &str) -> PcpUri {
    text.parse().unwrap()
}

fn engine() -> PcpUri {
    uri("pcp://orch.example/server")
}
