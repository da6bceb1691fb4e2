//! Directories and identity providers of remote users: [`UserOrigin`].
//!
//! Invariant: a login has one origin; a caller that writes another origin must have verified that
//! it is the same person.

use crate::StoreError;
use crate::rows::row;
use crate::store::Store;
use crate::value::values;

row! {
    /// The directory or identity provider of a remote user.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct UserOrigin {
        /// `ldap:UUID` of a directory, or `oidc:ISSUER`.
        pub origin: String,
        /// Permanent identity of the user there; empty if there is none.
        pub subject: String,
    } read write select origins from "user_origins"
}

row! {
    /// A remote user with a valid token or an enabled schedule, whose account was not confirmed for
    /// some time.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct UncheckedUser {
        /// Id of the user.
        pub id: String = "o.user_id",
        /// Login of the user.
        pub login: String = "u.login",
        /// Directory or identity provider of the user.
        pub origin: UserOrigin = "o.origin, o.subject",
    } read select unchecked from "user_origins o JOIN users u ON u.id = o.user_id"
}

const PUT: &str = "INSERT INTO user_origins (user_id, origin, subject, checked_ms) \
     VALUES ($1, $2, $3, $4) ON CONFLICT (user_id) DO UPDATE SET origin = EXCLUDED.origin, \
     subject = EXCLUDED.subject, checked_ms = EXCLUDED.checked_ms, gone = 0";
const GET: &str = origins!("WHERE user_id = $1");
const OF_ORIGIN: &str = "SELECT user_id FROM user_origins WHERE origin = $1 ORDER BY user_id";
const CHECKED: &str = "UPDATE user_origins SET checked_ms = $2, gone = $3 WHERE user_id = $1";
const GONE: &str = "SELECT gone FROM user_origins WHERE user_id = $1";
const DUE: &str = unchecked!(
    "WHERE o.checked_ms <= $1 AND o.origin = $4 AND u.revoked = 0 AND (EXISTS (SELECT 1 FROM tokens t WHERE t.user_id = o.user_id \
     AND t.revoked_ms IS NULL AND (t.expires_ms IS NULL OR t.expires_ms > $2)) \
     OR EXISTS (SELECT 1 FROM schedules s WHERE s.owner_id = o.user_id AND s.enabled <> 0)) \
     ORDER BY o.checked_ms, o.user_id LIMIT $3"
);
const ORIGINS: &str = "SELECT DISTINCT origin FROM user_origins WHERE checked_ms <= $1 \
     AND origin LIKE 'ldap:%' ORDER BY origin";

pub(crate) const STATEMENTS: &[&str] = &[PUT, GET, OF_ORIGIN, CHECKED, GONE, DUE, ORIGINS];

// === impl Store ===

impl Store {
    /// Records that the origin confirmed the user at `now_ms`.
    pub async fn set_user_origin(
        &self,
        user_id: &str,
        origin: &UserOrigin,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        self.execute(PUT, values![user_id, origin, now_ms])
            .await
            .map(drop)
    }

    /// The origin of a user; `None` if it is not known.
    pub async fn user_origin(&self, user_id: &str) -> Result<Option<UserOrigin>, StoreError> {
        self.query_one(GET, values![user_id]).await
    }

    /// Ids of the users that a directory has confirmed.
    pub async fn users_of_origin(&self, origin: &str) -> Result<Vec<String>, StoreError> {
        self.query(OF_ORIGIN, values![origin]).await
    }

    /// Records that the user's directory was queried at `now_ms`, and the result: the user exists
    /// or not.
    pub async fn record_user_check(
        &self,
        user_id: &str,
        is_gone: bool,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        self.execute(CHECKED, values![user_id, now_ms, is_gone])
            .await
            .map(drop)
    }

    /// True if the user's directory did not contain the user any more when it was last queried.
    pub async fn is_user_gone(&self, user_id: &str) -> Result<bool, StoreError> {
        let gone: Option<bool> = self.query_one(GONE, values![user_id]).await?;
        Ok(gone.unwrap_or(false))
    }

    /// LDAP directories, as origins, with users for whom they were last queried at `before_ms` or
    /// earlier.
    pub async fn due_origins(&self, before_ms: i64) -> Result<Vec<String>, StoreError> {
        self.query(ORIGINS, values![before_ms]).await
    }

    /// Users of a directory with enabled schedules or with tokens that are valid at `now_ms`, for
    /// whom the directory was last queried at `before_ms` or earlier; the longest ago first, at
    /// most `limit`.
    pub async fn due_users(
        &self,
        origin: &str,
        before_ms: i64,
        now_ms: i64,
        limit: u32,
    ) -> Result<Vec<UncheckedUser>, StoreError> {
        self.query(DUE, values![before_ms, now_ms, limit, origin])
            .await
    }
}
