//! What a connection says of the agent in its upgrade: [`Announce`].
//!
//! The rule that must hold: it is asked anew for each connection, and while one lasts now and
//! again, because the memory that the agent vouches with can be lost or replaced under it.

use std::sync::Arc;

use tokio::time::sleep;

/// Who knows what is to be announced.
pub trait Announce: Send + Sync {
    /// What is true now. May wait for the disk.
    fn capabilities(&self) -> pxp::Capabilities;
    /// Whether a peer is known that goes by it. If not, news can wait for the next connection.
    fn is_heeded(&self) -> bool;
}

/// The header's value, as it is true now; `None` when the runtime is going down.
pub(super) async fn now(announce: &Arc<dyn Announce>) -> Option<String> {
    let announce = Arc::clone(announce);
    let asked = tokio::task::spawn_blocking(move || announce.capabilities().to_string());
    asked.await.ok()
}

/// Returns when `announced` is no longer true and a peer goes by it.
pub(super) async fn is_outdated(
    announce: &Arc<dyn Announce>,
    announced: &str,
    interval: std::time::Duration,
) {
    loop {
        sleep(interval).await;
        if announce.is_heeded() && now(announce).await.is_some_and(|now| now != announced) {
            return;
        }
    }
}
