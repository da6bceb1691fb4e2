//! Tokens of users of a directory do not outlive the users: who is to be asked about
//! ([`Rbac::due_remote_users`]), and what follows from the answer.
//!
//! The rules: a user who is gone loses his tokens and groups, is marked, so that nothing is started
//! for him by the clock, and keeps what is known of him for the audit; one whose groups changed has the new ones from then on; and a directory that does
//! not answer changes nothing.

use std::time::Duration;

use store::{Store, StoreError, UserOrigin};

pub use store::DueUser;

use crate::change::CacheInvalidation;
use crate::defaults::REMOTE_GROUPS;
use crate::{LoginError, Rbac, RemoteUser, ms, now_ms};

impl Rbac {
    /// LDAP directories, as origins, that were not asked about all of their users within
    /// `interval`.
    pub async fn due_origins(&self, interval: Duration) -> Result<Vec<String>, StoreError> {
        let before = now_ms().saturating_sub(ms(interval));
        self.inner.store.due_origins(before).await
    }

    /// Users of a directory with good tokens or enabled schedules about whom it was not asked for `interval`; the
    /// longest unasked first, at most `limit`.
    pub async fn due_remote_users(
        &self,
        origin: &str,
        interval: Duration,
        limit: u32,
    ) -> Result<Vec<DueUser>, StoreError> {
        let now = now_ms();
        let before = now.saturating_sub(ms(interval));
        self.inner.store.due_users(origin, before, now, limit).await
    }

    /// The directory still knows the user, as this.
    pub async fn remote_user_stays(
        &self,
        user: &DueUser,
        mut told: RemoteUser,
    ) -> Result<(), LoginError> {
        let store = &self.inner.store;
        let origin = UserOrigin {
            origin: told.origin.clone(),
            subject: told.subject.clone(),
        };
        if differ(&user.origin, &origin) {
            // The login is another person's now.
            return Ok(self.remote_user_gone(user).await?);
        }
        // The directory may write it in other letters by now; here it stays.
        told.login.clone_from(&user.login);
        let Some(row) = store.user(&user.id).await? else {
            return Ok(());
        };
        let mut groups = told.groups.clone();
        groups.truncate(REMOTE_GROUPS);
        let same_name = row.display_name == told.display_name && row.email == told.email;
        let same_groups = self.has_groups(&user.id, &told.origin, &groups).await?;
        if same_name && same_groups {
            // Nothing that is remembered of tokens changes.
            store.user_checked(&user.id, false, now_ms()).await?;
            return Ok(());
        }
        Box::pin(self.take_in(told)).await.map(|_| ())
    }

    /// Whether the user's directory did not know him any more when it was last asked.
    pub async fn is_gone(&self, user_id: &str) -> Result<bool, StoreError> {
        self.inner.store.is_user_gone(user_id).await
    }

    /// The directory does not know the user any more, or has disabled him.
    pub async fn remote_user_gone(&self, user: &DueUser) -> Result<(), StoreError> {
        let turn = self.turn().await;
        let was_gone = self.inner.store.is_user_gone(&user.id).await?;
        let id = user.id.clone();
        let write = move |store: Store| async move {
            store.revoke_tokens_of(&id, None, now_ms()).await?;
            store.set_groups_of_user(&id, "", &[]).await?;
            store.user_checked(&id, true, now_ms()).await
        };
        self.change(Some(turn), CacheInvalidation::All, write)
            .await?;
        if was_gone {
            return Ok(());
        }
        tracing::warn!(
            login = user.login,
            origin = user.origin.origin,
            "the directory does not know this user any more: his tokens are revoked"
        );
        Ok(())
    }

    /// True if the user's groups, of those that are imported from this directory, are exactly
    /// these.
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

/// Whether two origins are those of two persons.
pub(crate) fn differ(known: &UserOrigin, told: &UserOrigin) -> bool {
    let both_named = !known.subject.is_empty() && !told.subject.is_empty();
    known.origin != told.origin || (both_named && known.subject != told.subject)
}
