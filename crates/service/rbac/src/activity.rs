//! Writes the last use of tokens in batches: [`ActivityWriter`].
//!
//! Invariant: no request waits for these writes. If the server is killed, at most the uses of the
//! last [`ACTIVITY_WRITTEN`] are lost.

use std::sync::{Arc, Mutex, PoisonError};

use store::Store;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::defaults::ACTIVITY_WRITTEN;
use crate::token_cache::TokenCache;

/// Handle of the background task that writes. Dropping it stops the task.
#[derive(Debug)]
pub(crate) struct ActivityWriter {
    stop: CancellationToken,
    writing: Mutex<Option<JoinHandle<()>>>,
}

impl ActivityWriter {
    pub(crate) fn start(store: Store, cache: Arc<TokenCache>) -> Self {
        let stop = CancellationToken::new();
        let writing = tokio::spawn(run(store, cache, stop.clone()));
        Self {
            stop,
            writing: Mutex::new(Some(writing)),
        }
    }

    /// Writes the remaining uses and waits until they are written.
    pub(crate) async fn shutdown(&self) {
        self.stop.cancel();
        let writing = self
            .writing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(writing) = writing
            && let Err(error) = writing.await
        {
            tracing::error!(%error, "the last use of tokens was not written");
        }
    }
}

impl Drop for ActivityWriter {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn run(store: Store, cache: Arc<TokenCache>, stop: CancellationToken) {
    loop {
        let last = tokio::select! {
            () = stop.cancelled() => true,
            () = tokio::time::sleep(ACTIVITY_WRITTEN) => false,
        };
        // A failed write does no harm: the next use of the token is written again.
        if let Err(error) = store.tokens_active(cache.take_uses()).await {
            tracing::warn!(%error, "cannot write when tokens were last used");
        }
        if last {
            return;
        }
    }
}
