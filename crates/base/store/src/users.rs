//! Users, who may log in.

use partial_debug::partial_debug;

use crate::StoreError;
use crate::rows::row;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;

row! {
    /// A user that is not written yet.
    #[derive(Clone, PartialEq, Eq)]
    pub struct NewUserRow {
        /// UUID of the user.
        pub id: String,
        /// Login; unique and case-sensitive.
        pub login: String,
        /// Name shown to users.
        pub display_name: String,
        /// E-mail address; may be empty.
        pub email: String,
        /// Password hash as a PHC string; `None`: the user cannot log in with a password of this
        /// server.
        pub password_hash: Option<String>,
        /// True if the user has all permissions.
        pub is_superuser: bool = "superuser",
        /// True if the user comes from an external directory.
        pub is_remote: bool = "remote",
        /// Time of creation in milliseconds since 1970.
        pub created_ms: i64,
    } write columns new_columns
}

row! {
    /// A stored user, local or remote.
    #[derive(Clone, PartialEq, Eq)]
    pub struct UserRow {
        /// UUID of the user.
        pub id: String,
        /// Login; unique and case-sensitive.
        pub login: String,
        /// Name shown to users.
        pub display_name: String,
        /// E-mail address; may be empty.
        pub email: String,
        /// Password hash as a PHC string; `None`: the user cannot log in with a password of this
        /// server.
        pub password_hash: Option<String>,
        /// True if the user has all permissions.
        pub is_superuser: bool = "superuser",
        /// True if the user may not log in any more; all tokens of the user are then invalid.
        pub is_revoked: bool = "revoked",
        /// Time of creation in milliseconds since 1970.
        pub created_ms: i64,
        /// Last login in milliseconds since 1970; `None`: none yet.
        pub last_login_ms: Option<i64>,
        /// True if the user comes from an external directory.
        pub is_remote: bool = "remote",
        /// Number of failed logins since the last successful one.
        pub failed_logins: i64,
    } read select users from "users"
}

row! {
    /// A change of a user; `None` keeps the stored value.
    #[derive(Clone, Default, PartialEq, Eq)]
    pub struct UserChange {
        /// New login; refused if another user has it.
        pub login: Option<String>,
        /// New name shown to users.
        pub display_name: Option<String>,
        /// New e-mail address; may be empty.
        pub email: Option<String>,
        /// New password hash as a PHC string.
        pub password_hash: Option<String>,
        /// True to grant all permissions, `false` to withdraw them.
        pub is_superuser: Option<bool>,
        /// True to revoke the user, `false` to reinstate the user.
        pub is_revoked: Option<bool>,
        /// Time of a login in milliseconds since 1970.
        pub last_login_ms: Option<i64>,
        /// New number of failed logins since the last successful one.
        pub failed_logins: Option<i64>,
    } write
}

const INSERT: &str = concat!(
    "INSERT INTO users (",
    new_columns!(),
    ", revoked) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0) ON CONFLICT DO NOTHING"
);

const UPDATE: &str = "UPDATE users SET login = COALESCE($2, login), \
     display_name = COALESCE($3, display_name), email = COALESCE($4, email), \
     password_hash = COALESCE($5, password_hash), \
     superuser = COALESCE(CAST($6 AS BIGINT), superuser), \
     revoked = COALESCE(CAST($7 AS BIGINT), revoked), \
     last_login_ms = COALESCE(CAST($8 AS BIGINT), last_login_ms), \
     failed_logins = COALESCE(CAST($9 AS BIGINT), failed_logins) WHERE id = $1";

const FAILED: &str = "UPDATE users SET failed_logins = failed_logins + 1 WHERE id = $1";

const BY_LOGIN: &str = users!("WHERE login = $1");
/// Logins of a directory are matched in any letter case; logins of this server are case-sensitive.
/// `$2` is in lower case already: PostgreSQL would convert it according to its database's language.
const TYPED: &str = users!(
    "WHERE login = $1 OR (remote = 1 AND LOWER(login) = $2) \
     ORDER BY CASE WHEN login = $1 THEN 0 ELSE 1 END, login LIMIT 1"
);
const BY_ID: &str = users!("WHERE id = $1");
const ALL: &str = users!("ORDER BY login");

const DELETE_ROLES: &str = "DELETE FROM role_users WHERE user_id = $1";
const DELETE_GROUPS: &str = "DELETE FROM group_members WHERE user_id = $1";
const DELETE_RESETS: &str = "DELETE FROM password_resets WHERE user_id = $1";
const DELETE_TOKENS: &str = "DELETE FROM tokens WHERE user_id = $1";
const DELETE_ORIGIN: &str = "DELETE FROM user_origins WHERE user_id = $1";
const DELETE: &str = "DELETE FROM users WHERE id = $1";

pub(crate) const STATEMENTS: &[&str] = &[
    INSERT,
    UPDATE,
    FAILED,
    BY_LOGIN,
    TYPED,
    BY_ID,
    ALL,
    DELETE_ROLES,
    DELETE_GROUPS,
    DELETE_RESETS,
    DELETE_TOKENS,
    DELETE_ORIGIN,
    DELETE,
];

// === impl Store ===

impl Store {
    /// Writes a user. `false`: the login or id is taken and nothing was written.
    pub async fn insert_user(&self, user: NewUserRow) -> Result<bool, StoreError> {
        Ok(self.execute(INSERT, values![user]).await? > 0)
    }

    /// The user with exactly this login.
    pub async fn user_by_login(&self, login: &str) -> Result<Option<UserRow>, StoreError> {
        self.query_one(BY_LOGIN, values![login]).await
    }

    /// The user for a login as it was typed: the one with exactly this login, else one of a
    /// directory whose login differs only in the case of (ASCII) letters.
    pub async fn user_by_typed_login(&self, login: &str) -> Result<Option<UserRow>, StoreError> {
        let small = login.to_ascii_lowercase();
        self.query_one(TYPED, values![login, small]).await
    }

    /// The user with this id.
    pub async fn user(&self, id: &str) -> Result<Option<UserRow>, StoreError> {
        self.query_one(BY_ID, values![id]).await
    }

    /// All users, by login.
    pub async fn users(&self) -> Result<Vec<UserRow>, StoreError> {
        self.query(ALL, Vec::new()).await
    }

    /// Changes a user. `false`: the user does not exist.
    pub async fn update_user(&self, id: &str, change: UserChange) -> Result<bool, StoreError> {
        Ok(self.execute(UPDATE, values![id, change]).await? > 0)
    }

    /// Counts one more failed login. For an unknown id it writes nothing and takes as long.
    pub async fn count_failed_login(&self, id: &str) -> Result<(), StoreError> {
        self.execute(FAILED, values![id]).await.map(drop)
    }

    /// Deletes a user with tokens, roles, groups and password resets. `false`: the user did not
    /// exist.
    pub async fn delete_user(&self, id: &str) -> Result<bool, StoreError> {
        let steps = [
            DELETE_ROLES,
            DELETE_GROUPS,
            DELETE_RESETS,
            DELETE_TOKENS,
            DELETE_ORIGIN,
            DELETE,
        ];
        let step = |sql| SqlStatement::new(sql, values![id]);
        self.execute_to_last(steps.map(step)).await
    }
}

// The password hash is left out.
partial_debug!(
    NewUserRow { login },
    UserRow { login },
    UserChange { display_name }
);
