//! From a password to a token.

use std::net::IpAddr;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use store::{NewToken, StoreError, UserChange, UserRow};

use crate::defaults::{CREDENTIAL_BYTES, EXPIRED_KEPT};
use crate::lockout::{Source, Who};
use crate::{Access, HashError, Label, Lifetime, now_ms, token};

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// No such user, or another password: which one, nobody is told.
    #[error("the login or the password is wrong")]
    Wrong,
    /// Too many failures.
    #[error(
        "too many failed logins from this address; this login may try again from here in {} \
         seconds", .wait.as_secs().max(1)
    )]
    LockedOut {
        /// How long.
        wait: Duration,
    },
    /// The password was right.
    #[error("this user is revoked; an administrator can reinstate it")]
    Revoked,
    /// The user has a token of that label.
    #[error("you have a token with the label {0:?} already; revoke it or choose another label")]
    LabelTaken(String),
    /// Hashing.
    #[error(transparent)]
    Hash(#[from] HashError),
    /// The store.
    #[error("cannot read or write users and tokens")]
    Store(#[from] StoreError),
}

impl Access {
    /// A new token for the user `login`. Failures lock the login for the address `source` that
    /// they come from; without one, for all who have none.
    pub async fn login(
        &self,
        login: &str,
        password: SecretString,
        lifetime: Lifetime,
        label: Option<Label>,
        source: Option<IpAddr>,
    ) -> Result<SecretString, LoginError> {
        let source = Source::new(source);
        let user = self.check_password(login, password, source).await?;
        if user.is_revoked {
            return Err(LoginError::Revoked);
        }
        self.issue(&user, lifetime, label).await
    }

    async fn check_password(
        &self,
        login: &str,
        password: SecretString,
        source: Source,
    ) -> Result<UserRow, LoginError> {
        if login.len() > CREDENTIAL_BYTES || password.expose_secret().len() > CREDENTIAL_BYTES {
            return Err(LoginError::Wrong);
        }
        let user = self.inner.store.user_by_login(login).await?;
        let who = user
            .as_ref()
            .map_or(Who::Unknown(login), |user| Who::Known(&user.id));
        // Before the turn: those who wait here hold up nobody else.
        let delay = self.inner.locks().delay(who, now_ms());
        tokio::time::sleep(delay).await;
        // The turn before the lock: many attempts at once must not all pass the lock before the
        // first of them has failed.
        let turn = self.inner.passwords.turn().await?;
        if let Some(wait) = self.inner.locks().wait(who, source, now_ms()) {
            return Err(LoginError::LockedOut { wait });
        }
        let hash = user.as_ref().and_then(|user| user.password_hash.clone());
        let right = self.inner.passwords.check(&turn, password, hash).await?;
        match &user {
            Some(known) if right => {
                self.inner.locks().succeeded(&known.id, source);
                user.ok_or(LoginError::Wrong)
            }
            _ => {
                let locked = self.inner.locks().failed(who, source, now_ms());
                if locked {
                    tracing::warn!(login, %source, "locked for this address after too many failures");
                }
                Err(LoginError::Wrong)
            }
        }
    }

    async fn issue(
        &self,
        user: &UserRow,
        lifetime: Lifetime,
        label: Option<Label>,
    ) -> Result<SecretString, LoginError> {
        let store = &self.inner.store;
        let label = label.map(|label| label.as_str().to_owned());
        if let Some(label) = &label {
            let tokens = store.tokens_of(&user.id).await?;
            if tokens
                .iter()
                .any(|token| token.label.as_ref() == Some(label))
            {
                return Err(LoginError::LabelTaken(label.clone()));
            }
        }
        let now = now_ms();
        let lifetime_ms = i64::try_from(lifetime.as_duration().as_millis());
        let secret = token::random_token();
        let new = NewToken {
            hash: token::hash(secret.expose_secret()),
            user_id: user.id.clone(),
            label,
            created_ms: now,
            expires_ms: Some(now.saturating_add(lifetime_ms.unwrap_or(i64::MAX))),
        };
        store.insert_token(new).await?;
        let change = UserChange {
            last_login_ms: Some(now),
            ..UserChange::default()
        };
        store.update_user(&user.id, change).await?;
        let kept_ms = i64::try_from(EXPIRED_KEPT.as_millis()).unwrap_or(i64::MAX);
        store
            .delete_expired_tokens(now.saturating_sub(kept_ms))
            .await?;
        tracing::info!(login = user.login, "logged in");
        Ok(secret)
    }
}
