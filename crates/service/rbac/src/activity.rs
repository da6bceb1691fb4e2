//! Writes when tokens were last used, in batches: [`Activity`].
//!
//! The rule: no request waits for it, and what is not written when the server is killed is at
//! most [`ACTIVITY_WRITTEN`] old.

use std::sync::{Arc, Mutex, PoisonError};

use store::Store;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::cache::TokenCache;
use crate::defaults::ACTIVITY_WRITTEN;

/// The task that writes. It ends with its handle.
#[derive(Debug)]
pub(crate) struct Activity {
    stop: CancellationToken,
    writing: Mutex<Option<JoinHandle<()>>>,
}

impl Activity {
    pub(crate) fn start(store: Store, cache: Arc<TokenCache>) -> Self {
        let stop = CancellationToken::new();
        let writing = tokio::spawn(run(store, cache, stop.clone()));
        Self {
            stop,
            writing: Mutex::new(Some(writing)),
        }
    }

    /// Writes the rest and waits for it.
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

impl Drop for Activity {
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
        // Nothing hangs on it: it is written at the next use.
        if let Err(error) = store.tokens_active(cache.take_uses()).await {
            tracing::warn!(%error, "cannot write when tokens were last used");
        }
        if last {
            return;
        }
    }
}
