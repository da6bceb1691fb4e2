//! Writes that change what tokens are good for: [`Rbac::change`].
//!
//! The rule: what is remembered of tokens is forgotten after the commit, also when whoever asked
//! has gone away; so the write is a task of its own, which the shutdown waits for.

use std::future::Future;

use store::{Store, StoreError};
use tokio::sync::OwnedMutexGuard;

use crate::Rbac;
use crate::cache::TokenHash;

/// The right to change rights, from the look to the write.
pub(crate) type RightsLock = OwnedMutexGuard<()>;

/// What is remembered no longer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CacheInvalidation {
    All,
    Token(TokenHash),
    /// Nothing that was written is remembered.
    Nothing,
}

impl Rbac {
    /// Waits until nobody else changes rights.
    pub(crate) async fn turn(&self) -> RightsLock {
        std::sync::Arc::clone(&self.inner.changes)
            .lock_owned()
            .await
    }

    /// Writes, forgets, and only then answers and lets the next one change something.
    pub(crate) async fn change<T, F>(
        &self,
        turn: Option<RightsLock>,
        forget: CacheInvalidation,
        write: impl FnOnce(Store) -> F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let write = write(self.inner.store.clone());
        let cache = std::sync::Arc::clone(&self.inner.cache);
        let writing = self.inner.tasks.spawn(async move {
            let written = write.await;
            // Also after an error: the write may have taken place.
            match forget {
                CacheInvalidation::All => cache.forget_all(),
                CacheInvalidation::Token(hash) => cache.forget(&hash),
                CacheInvalidation::Nothing => {}
            }
            drop(turn);
            written
        });
        writing.await.unwrap_or(Err(StoreError::Closed))
    }
}
