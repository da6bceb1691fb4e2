//! Revocation of tokens: [`Rbac::revoke`].
//!
//! Invariants: knowing a token is enough to revoke it. Labels refer to the caller's own tokens.
//! Revoking by token id or by login requires the owner or `users:disable`. A request with faults
//! still revokes everything else and reports the faults.

use store::{Store, StoreError, now_ms};

use crate::locked_write::CacheInvalidation;
use crate::token_cache::TokenHash;
use crate::{
    PermissionDenied, Rbac, RequestedPermission, TokenLabel, UserIdentity, random_secrets,
};

/// The tokens to revoke.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct TokenRevocation {
    /// Tokens as the clients present them.
    pub tokens: Vec<String>,
    /// Labels of tokens of the caller.
    pub labels: Vec<TokenLabel>,
    /// Logins of users whose tokens are all revoked.
    pub usernames: Vec<String>,
    /// Ids of tokens to revoke.
    pub ids: Vec<String>,
}

/// The parts of a [`TokenRevocation`] that failed. Everything else was revoked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RevokeFaults {
    /// Number of texts that are not tokens. They may be secrets, so they are not repeated.
    pub unknown_tokens: usize,
    /// Labels that no token of the caller has.
    pub unknown_labels: Vec<String>,
    /// Logins that no user has.
    pub unknown_usernames: Vec<String>,
    /// Ids that no token has.
    pub unknown_ids: Vec<String>,
    /// Logins, and ids of tokens, of other users that the caller may not revoke.
    pub not_permitted: Vec<String>,
}

/// Error while revoking tokens.
#[derive(Debug, thiserror::Error)]
pub enum RevokeError {
    /// Some tokens were not revoked; all others were.
    #[error("some tokens were not revoked: they do not exist, or are not yours; all others are")]
    Faults(Box<RevokeFaults>),
    /// The caller lacks a permission.
    #[error(transparent)]
    Denied(#[from] PermissionDenied),
    /// The store failed.
    #[error("cannot revoke tokens")]
    Store(#[from] StoreError),
}

impl Rbac {
    /// Revokes tokens with immediate effect.
    pub async fn revoke(
        &self,
        by: &UserIdentity,
        asked: TokenRevocation,
    ) -> Result<(), RevokeError> {
        let mut faults = RevokeFaults::default();
        for token in &asked.tokens {
            let hash = random_secrets::hash(token);
            // A token that was revoked before is no fault: revocation is idempotent.
            if self.inner.store.token_by_hash(&hash).await?.is_none() {
                faults.unknown_tokens += 1;
            }
            self.revoke_hash(&hash).await?;
        }
        for label in &asked.labels {
            if !self.revoke_label(by, label).await? {
                faults.unknown_labels.push(label.as_str().to_owned());
            }
        }
        for login in asked.usernames {
            self.revoke_username(by, login, &mut faults).await?;
        }
        for id in asked.ids {
            self.revoke_id(by, id, &mut faults).await?;
        }
        match faults == RevokeFaults::default() {
            true => Ok(()),
            false => Err(RevokeError::Faults(Box::new(faults))),
        }
    }

    /// Revokes one token. A token of another user requires `users:disable`.
    pub async fn revoke_one(&self, by: &UserIdentity, token: &str) -> Result<(), RevokeError> {
        let hash = random_secrets::hash(token);
        let Some(row) = self.inner.store.token_by_hash(&hash).await? else {
            let unknown_tokens = 1;
            return Err(RevokeError::Faults(Box::new(RevokeFaults {
                unknown_tokens,
                ..RevokeFaults::default()
            })));
        };
        self.may_revoke(by, &row.user_id)?;
        Ok(self.revoke_hash(&hash).await?)
    }

    fn may_revoke(&self, by: &UserIdentity, user_id: &str) -> Result<(), PermissionDenied> {
        if by.user_id == user_id {
            return Ok(());
        }
        self.authorize(by, RequestedPermission::on("users", "disable", user_id))
    }

    async fn revoke_label(
        &self,
        by: &UserIdentity,
        label: &TokenLabel,
    ) -> Result<bool, StoreError> {
        let tokens = self.inner.store.tokens_of(&by.user_id).await?;
        let labelled = tokens
            .iter()
            .find(|token| token.label.as_deref() == Some(label.as_str()));
        match labelled.map(|token| token.hash.as_slice().try_into()) {
            Some(Ok(hash)) => self.revoke_hash(hash).await.map(|()| true),
            _ => Ok(false),
        }
    }

    async fn revoke_username(
        &self,
        by: &UserIdentity,
        login: String,
        faults: &mut RevokeFaults,
    ) -> Result<(), StoreError> {
        let user = self.inner.store.user_by_login(&login).await?;
        // A caller without the permission must not learn if the user exists.
        let id = user.as_ref().map_or("", |user| user.id.as_str());
        match (self.may_revoke(by, id), user) {
            (Err(_), _) => faults.not_permitted.push(login),
            (Ok(()), None) => faults.unknown_usernames.push(login),
            (Ok(()), Some(user)) => {
                self.revoke_all(user.id).await?;
            }
        }
        Ok(())
    }

    async fn revoke_id(
        &self,
        by: &UserIdentity,
        id: String,
        faults: &mut RevokeFaults,
    ) -> Result<(), StoreError> {
        let row = self.inner.store.token_by_id(&id).await?;
        let owner = row.as_ref().map_or("", |row| row.user_id.as_str());
        match (self.may_revoke(by, owner), &row) {
            (Ok(()), Some(row)) => match row.hash.as_slice().try_into() {
                Ok(hash) => self.revoke_hash(hash).await?,
                Err(_) => faults.unknown_ids.push(id),
            },
            (Err(_), Some(_)) => faults.not_permitted.push(id),
            (_, None) => faults.unknown_ids.push(id),
        }
        Ok(())
    }

    async fn revoke_hash(&self, hash: &TokenHash) -> Result<(), StoreError> {
        // A token that is being derived from this one is either stored before, or not at all.
        let turn = self.lock_rights().await;
        let hash = *hash;
        let write = move |store: Store| async move { store.revoke_token(&hash, now_ms()).await };
        self.write_and_invalidate(Some(turn), CacheInvalidation::Token(hash), write)
            .await
            .map(|_| ())
    }

    /// Revokes all tokens of a user.
    async fn revoke_all(&self, user_id: String) -> Result<(), StoreError> {
        let turn = self.lock_rights().await;
        let write = move |store: Store| async move {
            store.revoke_tokens_of(&user_id, None, now_ms()).await
        };
        self.write_and_invalidate(Some(turn), CacheInvalidation::All, write)
            .await
            .map(|_| ())
    }
}

impl std::fmt::Debug for TokenRevocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenRevocation")
            .field("tokens", &self.tokens.len())
            .field("labels", &self.labels)
            .field("usernames", &self.usernames)
            .field("ids", &self.ids)
            .finish()
    }
}
