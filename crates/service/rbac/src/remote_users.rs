//! Periodic check of remote users against their directories: [`Rbac::due_remote_users`] lists the
//! users to check, the other functions apply the result.
//!
//! Invariants:
//! - A user who is gone from the directory loses all tokens and groups. The user is marked, so that
//!   no scheduled job of the user starts, and the record stays for the audit.
//! - Changed groups apply at once.
//! - A directory that does not respond changes nothing.

use std::time::Duration;

use store::{Store, StoreError, UserOrigin, now_ms};

pub use store::UncheckedUser;

use crate::defaults::REMOTE_GROUPS;
use crate::locked_write::CacheInvalidation;
use crate::milliseconds::to_ms;
use crate::{LoginError, Rbac, RemoteUser};

impl Rbac {
    /// Origins of LDAP directories with users that were not checked within `interval`.
    pub async fn due_origins(&self, interval: Duration) -> Result<Vec<String>, StoreError> {
        let before = now_ms().saturating_sub(to_ms(interval));
        self.inner.store.due_origins(before).await
    }

    /// Users of a directory with valid tokens or enabled scheduled jobs that were not checked for
    /// `interval`: at most `limit`, the longest unchecked first.
    pub async fn due_remote_users(
        &self,
        origin: &str,
        interval: Duration,
        limit: u32,
    ) -> Result<Vec<UncheckedUser>, StoreError> {
        let now = now_ms();
        let before = now.saturating_sub(to_ms(interval));
        self.inner.store.due_users(origin, before, now, limit).await
    }

    /// Records that the directory still has the user, and updates name, e-mail address and groups.
    pub async fn confirm_remote_user(
        &self,
        user: &UncheckedUser,
        mut told: RemoteUser,
    ) -> Result<(), LoginError> {
        let store = &self.inner.store;
        let origin = UserOrigin {
            origin: told.origin.clone(),
            subject: told.subject.clone(),
        };
        if are_different_persons(&user.origin, &origin) {
            // The login now belongs to another person.
            return Ok(self.revoke_remote_user(user).await?);
        }
        // The directory may have changed the case of the login; the stored login stays.
        told.login.clone_from(&user.login);
        let Some(row) = store.user(&user.id).await? else {
            return Ok(());
        };
        let mut groups = told.groups.clone();
        groups.truncate(REMOTE_GROUPS);
        let same_name = row.display_name == told.display_name && row.email == told.email;
        let same_groups = self.has_groups(&user.id, &told.origin, &groups).await?;
        if same_name && same_groups {
            // No cached token changes.
            store.record_user_check(&user.id, false, now_ms()).await?;
            return Ok(());
        }
        Box::pin(self.save_remote_user(told)).await.map(|_| ())
    }

    /// True if the directory no longer had the user at the last check.
    pub async fn is_remote_user_gone(&self, user_id: &str) -> Result<bool, StoreError> {
        self.inner.store.is_user_gone(user_id).await
    }

    /// Revokes the tokens of a user whom the directory has removed or disabled.
    pub async fn revoke_remote_user(&self, user: &UncheckedUser) -> Result<(), StoreError> {
        let turn = self.lock_rights().await;
        let was_gone = self.inner.store.is_user_gone(&user.id).await?;
        let id = user.id.clone();
        let write = move |store: Store| async move {
            store.revoke_tokens_of(&id, None, now_ms()).await?;
            store.set_groups_of_user(&id, "", &[]).await?;
            store.record_user_check(&id, true, now_ms()).await
        };
        self.write_and_invalidate(Some(turn), CacheInvalidation::All, write)
            .await?;
        if was_gone {
            return Ok(());
        }
        tracing::warn!(
            login = user.login,
            origin = user.origin.origin,
            "the directory no longer has this user: all tokens of the user are revoked"
        );
        Ok(())
    }

    /// True if the user is a member of exactly those imported groups of this directory that `told`
    /// names.
    async fn has_groups(
        &self,
        user_id: &str,
        origin: &str,
        told: &[String],
    ) -> Result<bool, StoreError> {
        let store = &self.inner.store;
        let imported = store.groups().await?;
        let mut now: Vec<String> = imported
            .into_iter()
            .filter(|group| group.origin == origin && told.contains(&group.login))
            .map(|group| group.id)
            .collect();
        let mut then = store.groups_of_user(user_id).await?;
        now.sort_unstable();
        then.sort_unstable();
        Ok(now == then)
    }
}

/// True if the two origins belong to different persons.
pub(crate) fn are_different_persons(known: &UserOrigin, told: &UserOrigin) -> bool {
    let both_named = !known.subject.is_empty() && !told.subject.is_empty();
    known.origin != told.origin || (both_named && known.subject != told.subject)
}
