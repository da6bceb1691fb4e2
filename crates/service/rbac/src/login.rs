//! Logins: check a password, or accept a remote user, and issue a token.

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use store::{NewUserRow, StoreError, UserChange, UserOrigin, UserRow, now_ms};
use uuid::Uuid;

use crate::defaults::{CREDENTIAL_BYTES, REMOTE_GROUPS};
use crate::lockout::{self, LoginAttempt, LoginSource};
use crate::password_queue::{PasswordRequester, QueuedAttempt};
use crate::tokens::TokenOrigin;
use crate::{
    DirectoryError, HashError, IssueError, LoginOrigin, Rbac, RemoteUser, TokenRequest,
    first_users, random_secrets, remote_users,
};

/// Reason why a login failed.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The user does not exist or the password is wrong. The caller does not learn which.
    #[error("the login or the password is wrong")]
    Wrong,
    /// There were too many failed logins from this network.
    #[error(
        "too many failed logins from this address; this login may try again from here in {} \
         seconds", .wait.as_secs().max(1)
    )]
    LockedOut {
        /// Remaining time of the lock.
        wait: Duration,
    },
    /// The password was correct, but the user is revoked.
    #[error("this user is revoked; an administrator can reinstate it")]
    Revoked,
    /// The password was correct, but the user is locked.
    #[error(
        "this user is locked for some time after too many failed logins; an administrator can \
         reinstate it, or give a token to set a new password"
    )]
    Locked,
    /// A local user has the same login as the remote user.
    #[error("there is a user of this server with the same login; its password is asked here")]
    RemoteConflict,
    /// The login belongs to a user of another directory, or to an earlier owner of the login.
    #[error(
        "a user of another directory, or an earlier owner of this login, has the same login \
         here; an administrator can delete that user"
    )]
    OtherPerson,
    /// There is no such local user, and the directory is not available.
    #[error("{0}; only users of this server can log in now")]
    Directory(DirectoryError),
    /// The token was not issued.
    #[error(transparent)]
    Issue(#[from] IssueError),
    /// The password cannot be hashed.
    #[error(transparent)]
    Hash(#[from] HashError),
    /// The store failed.
    #[error("cannot read or write users and tokens")]
    Store(#[from] StoreError),
}

impl Rbac {
    /// Logs the user in and issues a token. Failures lock the login for the network that they come
    /// from. Attempts without a network share one lock.
    pub async fn login(
        &self,
        login: &str,
        password: SecretString,
        request: TokenRequest,
        origin: impl Into<LoginOrigin>,
    ) -> Result<SecretString, LoginError> {
        let logging_in = self.log_in(login, password, request, origin.into());
        let outcome = Box::pin(logging_in).await;
        self.inner.metrics.count_login(&outcome);
        outcome
    }

    async fn log_in(
        &self,
        login: &str,
        password: SecretString,
        request: TokenRequest,
        origin: LoginOrigin,
    ) -> Result<SecretString, LoginError> {
        let source = LoginSource::new(origin.address);
        let checking = self.check_password(login, password, source, origin.requester());
        let user = Box::pin(checking).await?;
        if user.is_revoked {
            return Err(LoginError::Revoked);
        }
        if self.is_locked(&user) && !self.inner.locks().is_known_source(&user.id, source) {
            return Err(LoginError::Locked);
        }
        self.inner.locks().remember_source(&user.id, source);
        Box::pin(self.complete_login(user, request)).await
    }

    /// Issues a token for a user whom a directory or an identity provider has authenticated. The
    /// first login creates the user. The user becomes a member of those groups named by the
    /// directory that are imported.
    pub async fn login_remote(
        &self,
        remote: RemoteUser,
        request: TokenRequest,
    ) -> Result<SecretString, LoginError> {
        let outcome = Box::pin(self.log_in_remote(remote, request)).await;
        self.inner.metrics.count_login(&outcome);
        outcome
    }

    async fn log_in_remote(
        &self,
        remote: RemoteUser,
        request: TokenRequest,
    ) -> Result<SecretString, LoginError> {
        let user = Box::pin(self.save_remote_user(remote)).await?;
        if user.is_revoked {
            return Err(LoginError::Revoked);
        }
        Box::pin(self.complete_login(user, request)).await
    }

    /// True if wrong passwords, from all sources together, have locked the user. The lock ends by
    /// itself.
    pub(crate) fn is_locked(&self, user: &UserRow) -> bool {
        let locked = self.has_failed_too_often(user.id.as_str(), user.failed_logins);
        let now_ms = self.inner.steady_ms();
        locked
            && !self
                .inner
                .locks()
                .is_user_lock_over(&user.id, self.lock_time(), now_ms)
    }

    fn has_failed_too_often(&self, user_id: &str, failures: i64) -> bool {
        let most = self.inner.settings.failed_logins_lock;
        !first_users::is_immutable(user_id) && most.is_some_and(|most| failures >= i64::from(most))
    }

    fn lock_time(&self) -> Duration {
        self.inner.settings.user_lock
    }

    /// Stores a failure of `user`. For an unknown or locked user the write takes place too, but
    /// changes no row: its duration must reveal nothing, and the lock must not be extended.
    async fn count_failure(&self, user: Option<&UserRow>) -> Result<(), StoreError> {
        let store = &self.inner.store;
        let Some(user) = user.filter(|user| !self.is_locked(user)) else {
            return store.count_failed_login("").await;
        };
        let is_lock_over = self.has_failed_too_often(&user.id, user.failed_logins);
        let failures = if is_lock_over {
            1
        } else {
            user.failed_logins + 1
        };
        if self.has_failed_too_often(&user.id, failures) {
            let now_ms = self.inner.steady_ms();
            self.inner.locks().lock_user(&user.id, now_ms);
        }
        if !is_lock_over {
            return store.count_failed_login(&user.id).await;
        }
        let change = UserChange {
            failed_logins: Some(failures),
            ..UserChange::default()
        };
        store.update_user(&user.id, change).await.map(|_| ())
    }

    async fn complete_login(
        &self,
        user: UserRow,
        request: TokenRequest,
    ) -> Result<SecretString, LoginError> {
        let secret = Box::pin(self.issue(TokenOrigin::Login(&user), request)).await?;
        let change = UserChange {
            last_login_ms: Some(now_ms()),
            failed_logins: Some(0),
            ..UserChange::default()
        };
        self.inner.store.update_user(&user.id, change).await?;
        tracing::info!(login = user.login, "logged in");
        Ok(secret)
    }

    /// The user, if the password is correct. Every failure counts, and all failures take the same
    /// time.
    pub(crate) async fn check_password(
        &self,
        login: &str,
        password: SecretString,
        source: LoginSource,
        requester: PasswordRequester,
    ) -> Result<UserRow, LoginError> {
        if login.len() > CREDENTIAL_BYTES || password.expose_secret().len() > CREDENTIAL_BYTES {
            return Err(LoginError::Wrong);
        }
        // Enter the queue before the delay, which bounds the attempts that wait for one source.
        let place = self.inner.passwords.enter(requester)?;
        let user = self.inner.store.user_by_typed_login(login).await?;
        let attempt = self.inner.locks().to_attempt(login, &password, source);
        let delay = self.inner.locks().delay(&attempt, self.inner.steady_ms());
        // Delay before the turn, so that delayed attempts do not block other sources.
        tokio::time::sleep(delay).await;
        // Take the turn before the check of the lock: concurrent attempts must not all pass that
        // check before the first of them has failed.
        let turn = place.wait_for_turn().await;
        if let Some(wait) = self
            .inner
            .locks()
            .remaining_lock(&attempt, self.inner.steady_ms())
        {
            return Err(LoginError::LockedOut { wait });
        }
        let hash = user.as_ref().and_then(|user| user.password_hash.clone());
        let checking = self.inner.passwords.check(&turn, password.clone(), hash);
        if let (Some(user), true) = (&user, checking.await?) {
            self.inner.locks().end_lock(&attempt);
            return Ok(user.clone());
        }
        // Count the failure before the directory is queried: attempts that arrive meanwhile must
        // not pass the lock.
        let locked = self
            .inner
            .locks()
            .count_failure(&attempt, self.inner.steady_ms());
        // A slow directory must not block the turns of other attempts.
        drop(turn);
        let asking = self.ask_directory(login, &password, &attempt, (&place, user.as_ref()));
        if let Some(remote) = asking.await? {
            let user = Box::pin(self.save_remote_user(remote)).await?;
            self.inner.locks().end_lock(&attempt);
            return Ok(user);
        }
        self.count_failure(user.as_ref()).await?;
        if locked {
            tracing::warn!(login, source = %attempt.source(),
                "locked for this address after too many failures");
        }
        Err(LoginError::Wrong)
    }

    /// The user's record in the directory, if the directory accepts the password. The attempt was
    /// counted as a failure before; this is undone if the password was correct or not tried.
    ///
    /// Local users never authenticate at a directory. For them the directory is queried for a name
    /// that cannot exist, so that the duration does not reveal that they exist.
    async fn ask_directory(
        &self,
        login: &str,
        password: &SecretString,
        attempt: &LoginAttempt,
        (place, user): (&QueuedAttempt, Option<&UserRow>),
    ) -> Result<Option<RemoteUser>, LoginError> {
        let Some(directory) = &self.inner.settings.directory else {
            return Ok(None);
        };
        // A directory ignores extra spaces, which would give a user a second login to guess.
        if login != lockout::normalize_spaces(login) {
            return Ok(None);
        }
        let _turn = place.wait_for_directory_turn().await;
        if user.is_some_and(|user| !user.is_remote) {
            let (name, password) = (
                Uuid::new_v4().to_string(),
                random_secrets::random_password(),
            );
            return match directory.authenticate(&name, &password, None).await {
                Ok(_) | Err(DirectoryError::Refused) => Ok(None),
                Err(error) => Err(LoginError::Directory(error)),
            };
        }
        // Read even if there is no user: otherwise the duration would reveal it.
        let id = user.map_or("", |user| user.id.as_str());
        let origin = self.inner.store.user_origin(id).await?;
        let origin = origin.map(|known| known.origin);
        let asking = directory.authenticate(login, password, origin.as_deref());
        let told = match asking.await {
            Ok(remote) => Ok(Some(remote)),
            Err(DirectoryError::Refused) => return Ok(None),
            Err(error) => Err(LoginError::Directory(error)),
        };
        self.inner.locks().uncount_failure(attempt);
        told
    }

    /// Creates or updates a remote user from the record of the directory.
    pub(crate) async fn save_remote_user(&self, remote: RemoteUser) -> Result<UserRow, LoginError> {
        let turn = self.lock_rights().await;
        let store = &self.inner.store;
        let RemoteUser {
            origin,
            subject,
            login,
            display_name,
            email,
            mut groups,
        } = remote;
        groups.truncate(REMOTE_GROUPS);
        let id = match store.user_by_login(&login).await? {
            Some(user) if !user.is_remote => return Err(LoginError::RemoteConflict),
            Some(user) => user.id,
            None => Uuid::new_v4().to_string(),
        };
        let origin = UserOrigin { origin, subject };
        let known = store.user_origin(&id).await?;
        if known.is_some_and(|known| remote_users::are_different_persons(&known, &origin)) {
            return Err(LoginError::OtherPerson);
        }
        let new = NewUserRow {
            id: id.clone(),
            login,
            display_name: display_name.clone(),
            email: email.clone(),
            password_hash: None,
            is_superuser: false,
            is_remote: true,
            created_ms: now_ms(),
        };
        let change = UserChange {
            display_name: Some(display_name),
            email: Some(email),
            ..UserChange::default()
        };
        let user = id.clone();
        let from = origin.origin.clone();
        let write = move |store: store::Store| async move {
            if !store.insert_user(new).await? {
                store.update_user(&user, change).await?;
            }
            store.set_user_origin(&user, &origin, now_ms()).await?;
            store.set_groups_of_user(&user, &from, &groups).await
        };
        self.write_and_invalidate(
            Some(turn),
            crate::locked_write::CacheInvalidation::All,
            write,
        )
        .await?;
        let user = store.user(&id).await?;
        user.ok_or(LoginError::Store(StoreError::Closed))
    }
}
