//! Writes that change permissions: [`Rbac::write_and_invalidate`].
//!
//! Invariant: the token cache is invalidated after the commit, even if the client has disconnected.
//! The write is therefore a separate task, which the shutdown waits for.

use std::future::Future;

use store::{Store, StoreError};
use tokio::sync::OwnedMutexGuard;

use crate::Rbac;
use crate::token_cache::TokenHash;

/// Exclusive lock on permissions, from the first read to the write.
pub(crate) type RightsLock = OwnedMutexGuard<()>;

/// The part of the token cache that a write invalidates.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CacheInvalidation {
    All,
    Token(TokenHash),
    /// The write changes nothing that is cached.
    Nothing,
}

impl Rbac {
    /// Waits until no other request changes permissions.
    pub(crate) async fn lock_rights(&self) -> RightsLock {
        std::sync::Arc::clone(&self.inner.changes)
            .lock_owned()
            .await
    }

    /// Runs the write, invalidates the cache, and only then returns and releases the lock.
    pub(crate) async fn write_and_invalidate<T, F>(
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
            // Invalidate after an error too: the write may have been committed.
            match forget {
                CacheInvalidation::All => cache.invalidate_all(),
                CacheInvalidation::Token(hash) => cache.invalidate(&hash),
                CacheInvalidation::Nothing => {}
            }
            drop(turn);
            written
        });
        writing.await.unwrap_or(Err(StoreError::Closed))
    }
}
