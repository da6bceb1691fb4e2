//! Capabilities that a connection announces in its upgrade: [`CapabilitySource`].
//!
//! Invariant: they are read anew for each connection, and periodically while one lasts, because the
//! spool whose id is announced can be lost or replaced meanwhile.

use std::sync::Arc;

use tokio::time::sleep;

/// Source of the announced capabilities.
pub trait CapabilitySource: Send + Sync {
    /// The current capabilities. May block on the disk.
    fn capabilities(&self) -> pxp::AgentCapabilities;
    /// True if a peer is known that uses the announcement. Otherwise changes can wait for the next
    /// connection.
    fn is_heeded(&self) -> bool;
}

/// The current value of the header; `None` when the runtime is shutting down.
pub(super) async fn current_header(announce: &Arc<dyn CapabilitySource>) -> Option<String> {
    let announce = Arc::clone(announce);
    let asked = tokio::task::spawn_blocking(move || announce.capabilities().to_string());
    asked.await.ok()
}

/// Returns when `announced` is no longer true and a peer uses it.
pub(super) async fn wait_outdated(
    announce: &Arc<dyn CapabilitySource>,
    announced: &str,
    interval: std::time::Duration,
) {
    loop {
        sleep(interval).await;
        if announce.is_heeded()
            && current_header(announce)
                .await
                .is_some_and(|now| now != announced)
        {
            return;
        }
    }
}
