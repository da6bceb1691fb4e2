//! Creates and lists tokens.
//!
//! Invariants: the login or token that a new token is derived from is still valid when the new
//! token is stored. A token derived from another one never outlives it.

use std::fmt;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use store::{NewTokenRow, Store, StoreError, TokenRow, UserRow, now_ms};
use uuid::Uuid;

use crate::defaults::{EXPIRED_KEPT, MAX_LIFETIME, TOKENS_PER_USER};
use crate::locked_write::CacheInvalidation;
use crate::milliseconds::to_ms;
use crate::{
    ManageError, Rbac, RequestedPermission, TokenLabel, TokenLifetime, UserIdentity, random_secrets,
};

/// Properties of a new token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenRequest {
    /// Lifetime that the client requested; [`TokenLifetime::default`] if it requested none.
    pub lifetime: TokenLifetime,
    /// Label for revoking the token; unique per user.
    pub label: Option<TokenLabel>,
    /// Purpose of the token, as free text.
    pub description: Option<String>,
    /// Name of the program that requested the token.
    pub client: Option<String>,
}

/// Reason why no token was created.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// The user has a token with that label already.
    #[error("you have a token with the label {0:?} already; revoke it or choose another label")]
    LabelTaken(String),
    /// The user has [`TOKENS_PER_USER`] tokens already.
    #[error("you have {TOKENS_PER_USER} tokens; revoke some first, or ask for shorter lifetimes")]
    TooMany,
    /// The requested lifetime exceeds the maximum of the server.
    #[error(
        "tokens of this server live {} at most (access.token_max_lifetime_s); ask for a shorter lifetime, or \
         for 0, the longest",
        DisplayedDuration(*most)
    )]
    TooLong {
        /// Maximum lifetime of the server's tokens.
        most: Duration,
    },
    /// The requested lifetime exceeds that of the token that authenticated the request.
    #[error(
        "a token made with another one ends with it at the latest, and yours ends in {}; log in with the \
         lifetime and label that you want, or ask for 0, the longest",
        DisplayedDuration(*left)
    )]
    OutlivesToken {
        /// Remaining lifetime of the token that the request was made with.
        left: Duration,
    },
    /// The token of the request ended meanwhile, or the request had none.
    #[error("the token that asked for another one is no longer good; log in again")]
    TokenEnded,
    /// The user was revoked, deleted, or got another password meanwhile.
    #[error("the user was revoked or changed meanwhile; log in again")]
    UserChanged,
    /// The store failed.
    #[error("cannot read or write tokens")]
    Store(#[from] StoreError),
}

/// The login or token that a new token is derived from.
pub(crate) enum TokenOrigin<'a> {
    /// A login of the user, with the row of the user at that time.
    Login(&'a UserRow),
    /// Another token of the user.
    Token {
        /// Id of that token.
        id: &'a str,
        /// Id of its user.
        user_id: &'a str,
    },
}

/// A token in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenView {
    /// The row in the store.
    pub row: TokenRow,
    /// Last use, in milliseconds since 1970.
    pub last_active_ms: i64,
}

impl Rbac {
    /// Creates another token for a caller with a valid token. It ends no later than that token:
    /// otherwise a token that was stolen once could be renewed forever.
    pub async fn issue_for(
        &self,
        identity: &UserIdentity,
        request: TokenRequest,
    ) -> Result<SecretString, IssueError> {
        let id = identity.token_id.as_deref().ok_or(IssueError::TokenEnded)?;
        let user_id = identity.user_id.as_str();
        let issuing = self.issue(TokenOrigin::Token { id, user_id }, request);
        Box::pin(issuing).await
    }

    /// The valid tokens of a user, oldest first. The tokens of another user require
    /// `users:disable`.
    pub async fn list_tokens(
        &self,
        by: &UserIdentity,
        user_id: &str,
    ) -> Result<Vec<TokenView>, ManageError> {
        if by.user_id != user_id {
            self.authorize(by, RequestedPermission::on("users", "disable", user_id))?;
        }
        self.existing_user(user_id).await?;
        let now = now_ms();
        let rows = self.inner.store.tokens_of(user_id).await?;
        let views = rows.into_iter().map(|row| self.to_view(row));
        let good = |view: &TokenView| {
            let idle_ms = now.saturating_sub(view.last_active_ms);
            view.row.expires_ms.is_none_or(|end| end > now)
                && view.row.timeout_ms.is_none_or(|most| idle_ms < most)
        };
        Ok(views.filter(good).collect())
    }

    pub(crate) async fn issue(
        &self,
        ground: TokenOrigin<'_>,
        request: TokenRequest,
    ) -> Result<SecretString, IssueError> {
        let store = &self.inner.store;
        let now = now_ms();
        store
            .delete_old_tokens(now.saturating_sub(to_ms(EXPIRED_KEPT)))
            .await?;
        // Locked from the check of origin and label to the write.
        let turn = self.lock_rights().await;
        let now = now_ms();
        let latest_ms = self.check_origin(&ground, now).await?;
        let expires_ms = self.limit_expiry(request.lifetime, latest_ms, now)?;
        let user_id = ground.user_id();
        if store.count_tokens_of(user_id).await? >= TOKENS_PER_USER {
            return Err(IssueError::TooMany);
        }
        let label = request.label.map(|label| label.as_str().to_owned());
        if let Some(label) = &label {
            self.release_label(user_id, label, now).await?;
        }
        let secret = random_secrets::random_token();
        let hash = random_secrets::hash(secret.expose_secret());
        let new = NewTokenRow {
            hash,
            id: Uuid::new_v4().to_string(),
            user_id: user_id.to_owned(),
            label,
            description: request.description,
            client: request.client,
            created_ms: now,
            expires_ms: Some(expires_ms),
            timeout_ms: self.inner.settings.token_inactivity.map(to_ms),
        };
        let write = move |store: Store| async move { store.insert_token(new).await };
        self.write_and_invalidate(Some(turn), CacheInvalidation::Nothing, write)
            .await?;
        Ok(secret)
    }

    /// Expiry of a new token, in milliseconds since 1970.
    fn limit_expiry(
        &self,
        lifetime: TokenLifetime,
        latest_ms: Option<i64>,
        now_ms: i64,
    ) -> Result<i64, IssueError> {
        let most = self.inner.settings.token_max_lifetime;
        let most = most.unwrap_or(MAX_LIFETIME);
        let wanted = lifetime.as_duration();
        if lifetime.is_exact() && wanted > most {
            return Err(IssueError::TooLong { most });
        }
        let expires_ms = now_ms.saturating_add(to_ms(wanted.min(most)));
        match latest_ms {
            Some(latest_ms) if lifetime.is_exact() && expires_ms > latest_ms => {
                let left_ms = u64::try_from(latest_ms.saturating_sub(now_ms)).unwrap_or(0);
                let left = Duration::from_millis(left_ms);
                Err(IssueError::OutlivesToken { left })
            }
            Some(latest_ms) => Ok(expires_ms.min(latest_ms)),
            None => Ok(expires_ms),
        }
    }

    /// Expiry of a token in milliseconds since 1970, with the maximum lifetime that the server has
    /// now; `None` if it never expires.
    pub(crate) fn expires_ms(&self, row: &TokenRow) -> Option<i64> {
        let most = self.inner.settings.token_max_lifetime;
        let latest = most.map(|most| row.created_ms.saturating_add(to_ms(most)));
        match (row.expires_ms, latest) {
            (Some(end), Some(latest)) => Some(end.min(latest)),
            (end, latest) => end.or(latest),
        }
    }

    /// Checks the origin of a new token under the lock. Returns the latest allowed expiry, or
    /// `None` if the origin sets no limit.
    async fn check_origin(
        &self,
        ground: &TokenOrigin<'_>,
        now_ms: i64,
    ) -> Result<Option<i64>, IssueError> {
        let store = &self.inner.store;
        let user = store.user(ground.user_id()).await?;
        let user = user.filter(|user| !user.is_revoked);
        let user = user.ok_or(IssueError::UserChanged)?;
        match *ground {
            TokenOrigin::Login(then) if then.password_hash == user.password_hash => Ok(None),
            TokenOrigin::Login(_) => Err(IssueError::UserChanged),
            TokenOrigin::Token { id, user_id } => {
                let shown = store.token_by_id(id).await?;
                let good = |shown: &TokenRow| {
                    shown.user_id == user_id
                        && shown.revoked_ms.is_none()
                        && self.expires_ms(shown).is_none_or(|end| end > now_ms)
                };
                let shown = shown.filter(good).ok_or(IssueError::TokenEnded)?;
                Ok(self.expires_ms(&shown))
            }
        }
    }

    /// Frees the label by revoking an expired token that has it. Fails if a valid token has it.
    async fn release_label(
        &self,
        user_id: &str,
        label: &str,
        now_ms: i64,
    ) -> Result<(), IssueError> {
        let tokens = self.inner.store.tokens_of(user_id).await?;
        let labelled = tokens
            .into_iter()
            .find(|token| token.label.as_deref() == Some(label));
        let Some(labelled) = labelled else {
            return Ok(());
        };
        if self.expires_ms(&labelled).is_none_or(|end| end > now_ms) {
            return Err(IssueError::LabelTaken(label.to_owned()));
        }
        if let Ok(hash) = labelled.hash.as_slice().try_into() {
            self.inner.store.revoke_token(hash, now_ms).await?;
        }
        Ok(())
    }

    fn to_view(&self, mut row: TokenRow) -> TokenView {
        row.expires_ms = self.expires_ms(&row);
        let hash: Option<&[u8; 32]> = row.hash.as_slice().try_into().ok();
        let used = hash.and_then(|hash| self.inner.cache.last_use(hash));
        let written = row.last_active_ms.unwrap_or(row.created_ms);
        TokenView {
            last_active_ms: used.unwrap_or(written).max(written),
            row,
        }
    }
}

/// Displays a duration in the largest unit of which there are at least two.
struct DisplayedDuration(Duration);

impl fmt::Display for DisplayedDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        match seconds {
            172_800.. => write!(f, "{} days", seconds / 86_400),
            7_200.. => write!(f, "{} hours", seconds / 3_600),
            120.. => write!(f, "{} minutes", seconds / 60),
            _ => write!(f, "{seconds} s"),
        }
    }
}

impl TokenOrigin<'_> {
    fn user_id(&self) -> &str {
        match self {
            Self::Login(user) => &user.id,
            Self::Token { user_id, .. } => user_id,
        }
    }
}
