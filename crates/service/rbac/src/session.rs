//! Authentication by token: [`Rbac::authenticate`].
//!
//! Invariant: a request costs one lookup in memory. The store is read once per token after each
//! change of permissions.

use std::sync::Arc;

use store::{StoreError, TokenRow, now_ms};

use crate::token_cache::{CachedToken, TokenHash};
use crate::{Rbac, UserIdentity, random_secrets};

/// Reason why a token is refused.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticateError {
    /// The token was never issued, or was deleted after its end.
    #[error("the token is not valid (it may be revoked); log in again")]
    Unknown,
    /// The token was revoked.
    #[error("the token was revoked; log in again")]
    Revoked,
    /// The token has expired.
    #[error("the token has expired; log in again")]
    Expired,
    /// The token was not used for longer than the inactivity timeout.
    #[error("the token was not used for too long and has timed out; log in again")]
    TimedOut,
    /// The user of the token is revoked.
    #[error("the token's user is revoked; an administrator can reinstate it")]
    UserRevoked,
    /// The store failed.
    #[error("cannot read tokens")]
    Store(#[from] StoreError),
}

/// A valid token with its user.
#[derive(Clone, Debug)]
pub struct TokenSession {
    /// User of the token.
    pub identity: Arc<UserIdentity>,
    /// Row of the token in the store.
    pub token: TokenRow,
    /// Last use, in milliseconds since 1970.
    pub last_active_ms: i64,
}

impl Rbac {
    /// Authenticates the user of `token`. This counts as a use of the token.
    pub async fn authenticate(&self, token: &str) -> Result<Arc<UserIdentity>, AuthenticateError> {
        let hash = random_secrets::hash(token);
        let now = now_ms();
        if let Some(entry) = self.inner.cache.get(&hash) {
            self.inner.metrics.cache_hits.inc();
            check_token(&entry, now)?;
            entry.record_use(now);
            return Ok(Arc::clone(&entry.identity));
        }
        let (entry, _) = Box::pin(self.read_token(&hash, now)).await?;
        entry.record_use(now);
        Ok(Arc::clone(&entry.identity))
    }

    /// Reads a valid token and its user. This counts as a use of the token only if `as_use` is
    /// true.
    pub async fn session(
        &self,
        token: &str,
        as_use: bool,
    ) -> Result<TokenSession, AuthenticateError> {
        let hash = random_secrets::hash(token);
        let now = now_ms();
        let (entry, token) = Box::pin(self.read_token(&hash, now)).await?;
        if as_use {
            entry.record_use(now);
        }
        Ok(TokenSession {
            identity: Arc::clone(&entry.identity),
            token,
            last_active_ms: entry.last_active_ms(),
        })
    }

    /// Reads token and user from the store and caches them.
    async fn read_token(
        &self,
        hash: &TokenHash,
        now_ms: i64,
    ) -> Result<(Arc<CachedToken>, TokenRow), AuthenticateError> {
        self.inner.metrics.cache_misses.inc();
        let (store, cache) = (&self.inner.store, &self.inner.cache);
        let generation = cache.generation();
        let row = store.token_by_hash(hash).await?;
        let mut row = row.ok_or(AuthenticateError::Unknown)?;
        row.expires_ms = self.expires_ms(&row);
        if row.revoked_ms.is_some() {
            return Err(AuthenticateError::Revoked);
        }
        let user = store.user(&row.user_id).await?;
        let user = user.ok_or(AuthenticateError::Unknown)?;
        if user.is_revoked {
            return Err(AuthenticateError::UserRevoked);
        }
        let mut identity = UserIdentity::load(store, user).await?;
        identity.token_id = Some(row.id.clone());
        let identity = Arc::new(identity);
        let last_active = row.last_active_ms.unwrap_or(row.created_ms);
        let last_active = last_active.max(cache.last_use(hash).unwrap_or(i64::MIN));
        let entry = CachedToken::new(identity, row.expires_ms, row.timeout_ms, last_active);
        let entry = Arc::new(entry);
        check_token(&entry, now_ms)?;
        cache.put(*hash, Arc::clone(&entry), generation);
        Ok((entry, row))
    }
}

fn check_token(entry: &CachedToken, now_ms: i64) -> Result<(), AuthenticateError> {
    if entry.expires_ms.is_some_and(|end| end <= now_ms) {
        return Err(AuthenticateError::Expired);
    }
    let idle_ms = now_ms.saturating_sub(entry.last_active_ms());
    if entry.timeout_ms.is_some_and(|most| idle_ms >= most) {
        return Err(AuthenticateError::TimedOut);
    }
    Ok(())
}
