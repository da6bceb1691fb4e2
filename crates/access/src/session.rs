//! From a token to an identity, and the end of tokens.

use store::{StoreError, UserRow};

use crate::{Access, Label, now_ms, token};

/// Who a token belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The user's UUID.
    pub user_id: String,
    /// The name to log in with.
    pub login: String,
    /// The name for people.
    pub display_name: String,
    /// Empty when unknown.
    pub email: String,
    /// May do everything.
    pub is_superuser: bool,
    /// The last login, in milliseconds since the epoch.
    pub last_login_ms: Option<i64>,
}

/// Why a token is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticateError {
    /// Never issued, or revoked.
    #[error("the token is not valid (it may be revoked); log in again")]
    Unknown,
    /// Too old.
    #[error("the token has expired; log in again")]
    Expired,
    /// Its user is revoked.
    #[error("the token's user is revoked; an administrator can reinstate it")]
    UserRevoked,
    /// The store.
    #[error("cannot read tokens")]
    Store(#[from] StoreError),
}

/// Why a token was not revoked.
#[derive(Debug, thiserror::Error)]
pub enum RevokeError {
    /// The user has none of that label.
    #[error("you have no token with the label {0:?}")]
    NoLabel(String),
    /// The store.
    #[error("cannot revoke tokens")]
    Store(#[from] StoreError),
}

impl Access {
    /// Whose `token` is.
    pub async fn authenticate(&self, token: &str) -> Result<Identity, AuthenticateError> {
        let store = &self.inner.store;
        let found = store.token_by_hash(&token::hash(token)).await?;
        let row = found.ok_or(AuthenticateError::Unknown)?;
        if row.expires_ms.is_some_and(|end| end <= now_ms()) {
            return Err(AuthenticateError::Expired);
        }
        let user = store
            .user(&row.user_id)
            .await?
            .ok_or(AuthenticateError::Unknown)?;
        if user.is_revoked {
            return Err(AuthenticateError::UserRevoked);
        }
        Ok(Identity::of(user))
    }

    /// Ends the token; one that is not there is ended already. Whoever knows a token may.
    pub async fn revoke(&self, token: &str) -> Result<(), RevokeError> {
        self.inner.store.delete_token(&token::hash(token)).await?;
        Ok(())
    }

    /// Ends the token of `identity` with this label.
    pub async fn revoke_label(
        &self,
        identity: &Identity,
        label: &Label,
    ) -> Result<(), RevokeError> {
        let store = &self.inner.store;
        let tokens = store.tokens_of(&identity.user_id).await?;
        let labelled = tokens
            .iter()
            .find(|token| token.label.as_deref() == Some(label.as_str()));
        let hash = labelled.and_then(|token| token.hash.as_slice().try_into().ok());
        let hash = hash.ok_or_else(|| RevokeError::NoLabel(label.as_str().to_owned()))?;
        store.delete_token(hash).await?;
        Ok(())
    }
}

impl Identity {
    fn of(user: UserRow) -> Self {
        Self {
            user_id: user.id,
            login: user.login,
            display_name: user.display_name,
            email: user.email,
            is_superuser: user.is_superuser,
            last_login_ms: user.last_login_ms,
        }
    }
}
