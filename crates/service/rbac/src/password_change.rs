//! Password changes by the user, password resets by token, and the rules for new passwords.

pub use super::password_fault::PasswordFault;
use std::net::IpAddr;

use secrecy::{ExposeSecret as _, SecretString};
use store::{PasswordResetRow, Store, now_ms};

use crate::defaults::{CREDENTIAL_BYTES, PASSWORD_CHARS, RESET_LIFETIME};
use crate::locked_write::CacheInvalidation;
use crate::lockout::LoginSource;
use crate::milliseconds::to_ms;
use crate::password_queue::PasswordRequester;
use crate::random_secrets;
use crate::{LoginError, ManageError, Rbac, RequestedPermission, UserIdentity, first_users};

/// Checks a new password. `login` is the login of the user, if known.
pub fn check_new_password(
    password: &SecretString,
    login: Option<&str>,
) -> Result<(), PasswordFault> {
    let text = password.expose_secret();
    if text.len() > CREDENTIAL_BYTES {
        return Err(PasswordFault::TooLong);
    }
    if text.chars().count() < PASSWORD_CHARS {
        return Err(PasswordFault::TooShort);
    }
    if login.is_some_and(|login| login.eq_ignore_ascii_case(text)) {
        return Err(PasswordFault::IsLogin);
    }
    Ok(())
}

impl Rbac {
    /// Sets the password of the caller. All tokens of the caller are revoked except `token`, which
    /// authenticated this request. A wrong current password counts as a failed login.
    pub async fn change_own_password(
        &self,
        by: &UserIdentity,
        current: SecretString,
        new: SecretString,
        token: Option<&str>,
        source: Option<IpAddr>,
    ) -> Result<(), ManageError> {
        if by.is_remote {
            return Err(ManageError::RemoteUser);
        }
        check_new_password(&new, Some(&by.login)).map_err(ManageError::Password)?;
        let requester = PasswordRequester::User(by.user_id.clone());
        let checking = self.check_password(&by.login, current, LoginSource::new(source), requester);
        let user = match Box::pin(checking).await {
            Ok(user) => user,
            Err(LoginError::LockedOut { wait }) => return Err(ManageError::LockedOut { wait }),
            Err(LoginError::Store(error)) => return Err(error.into()),
            Err(LoginError::Hash(error)) => return Err(error.into()),
            Err(_) => return Err(ManageError::CurrentPassword),
        };
        let hash = self.inner.passwords.hash(new, &by.user_id).await?;
        let but = token.map(random_secrets::hash);
        let login = user.login;
        // A concurrent login with the old password creates its token before this, or not at all.
        let turn = self.lock_rights().await;
        let write = move |store: Store| async move {
            let but = but.as_ref();
            store.set_password(&user.id, &hash, but, now_ms()).await
        };
        self.write_and_invalidate(Some(turn), CacheInvalidation::All, write)
            .await?;
        tracing::info!(login, "changed the own password");
        Ok(())
    }

    /// Creates a token that lets the user set a password once within a day. Needs
    /// `users:reset_password` and every permission of the user: otherwise the caller could take
    /// over a user with more permissions. Only [`Rbac::api_user`] can create one for `admin`.
    pub async fn reset_token(
        &self,
        by: &UserIdentity,
        user_id: &str,
    ) -> Result<SecretString, ManageError> {
        self.authorize(
            by,
            RequestedPermission::on("users", "reset_password", user_id),
        )?;
        // Locked from the check of permissions to the write. Later grants to the user delete the
        // token.
        let turn = self.lock_rights().await;
        let user = self.existing_user(user_id).await?;
        // The server itself can restore the access of an administrator who lost the password.
        let by_server = by.user_id == first_users::API_USER_ID && user_id == first_users::ADMIN_ID;
        if first_users::is_immutable(user_id) && !by_server {
            return Err(ManageError::AdminImmutable);
        }
        if user.is_remote {
            return Err(ManageError::RemoteUser);
        }
        self.require_rights_of_user(by, user).await?;
        let secret = random_secrets::random_token();
        let hash = random_secrets::hash(secret.expose_secret());
        let now = now_ms();
        let expires = now.saturating_add(to_ms(RESET_LIFETIME));
        let (id, by_id) = (user_id.to_owned(), by.user_id.clone());
        let write = move |store: Store| async move {
            store
                .insert_password_reset(&hash, &id, &by_id, expires, now)
                .await
        };
        self.write_and_invalidate(Some(turn), CacheInvalidation::Nothing, write)
            .await?;
        tracing::info!(by = by.login, user_id, "made a password reset token");
        Ok(secret)
    }

    /// Sets the password of the user that the reset token is for, and deletes the token. Ends a
    /// lock after wrong passwords, but does not reinstate a revoked user.
    pub async fn reset_password(
        &self,
        reset_token: &str,
        new: SecretString,
    ) -> Result<(), ManageError> {
        let hash = random_secrets::hash(reset_token);
        let PasswordResetRow { user_id, login, .. } = self
            .valid_reset(&hash)
            .await?
            .ok_or(ManageError::ResetToken)?;
        check_new_password(&new, Some(&login)).map_err(ManageError::Password)?;
        let password = self.inner.passwords.hash(new, &user_id).await?;
        // Locked from the check of the creator's permissions to the write.
        let turn = self.lock_rights().await;
        self.valid_reset(&hash)
            .await?
            .ok_or(ManageError::ResetToken)?;
        let write = move |store: Store| async move {
            let now = now_ms();
            store
                .set_password_by_reset(&hash, &user_id, &password, now)
                .await
        };
        if !self
            .write_and_invalidate(Some(turn), CacheInvalidation::All, write)
            .await?
        {
            return Err(ManageError::ResetToken);
        }
        tracing::info!(login, "set a password by a reset token");
        Ok(())
    }

    /// Login of the user that a reset token is for; `None` if the token is not valid.
    pub async fn reset_login(&self, reset_token: &str) -> Result<Option<String>, ManageError> {
        let hash = random_secrets::hash(reset_token);
        let found = self.valid_reset(&hash).await?;
        Ok(found.map(|reset| reset.login))
    }

    /// The row of a valid reset token. Its creator must still be allowed to create it: the creator
    /// exists, is not revoked, and has `users:reset_password` and every permission of the user.
    async fn valid_reset(&self, hash: &[u8; 32]) -> Result<Option<PasswordResetRow>, ManageError> {
        let store = &self.inner.store;
        let Some(reset) = store.password_reset(hash, now_ms()).await? else {
            return Ok(None);
        };
        let by = store.user(&reset.by_user_id).await?;
        let user = store.user(&reset.user_id).await?;
        let (Some(by), Some(user)) = (by.filter(|by| !by.is_revoked), user) else {
            return Ok(None);
        };
        let by = UserIdentity::load(store, by).await?;
        let permission = RequestedPermission::on("users", "reset_password", &user.id);
        if self.authorize(&by, permission).is_err() {
            return Ok(None);
        }
        match self.require_rights_of_user(&by, user).await {
            Ok(()) => Ok(Some(reset)),
            Err(ManageError::Denied(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_have_a_length_and_are_not_the_login() {
        let check = |text: &str| check_new_password(&text.into(), Some("frederick"));
        assert_eq!(check("1234567"), Err(PasswordFault::TooShort));
        assert_eq!(check("Frederick"), Err(PasswordFault::IsLogin));
        assert_eq!(check(&"x".repeat(1_025)), Err(PasswordFault::TooLong));
        assert_eq!(check("ääääääää"), Ok(()));
    }
}
