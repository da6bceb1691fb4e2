//! Changes of passwords, and password reset tokens.
//!
//! Invariant: a reset token is used up in the transaction that sets the password, and all other
//! tokens of the user end in it.

use crate::StoreError;
use crate::rows::row;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::tokens::revoke_of_user;
use crate::value::values;

row! {
    /// A stored password reset token.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PasswordResetRow {
        /// Id of the user whose password it sets.
        pub user_id: String = "users.id",
        /// Login of that user.
        pub login: String = "users.login",
        /// Id of the user who created it, and on whose permissions its validity depends.
        pub by_user_id: String = "password_resets.by_user_id",
    } read select resets from "password_resets JOIN users ON users.id = password_resets.user_id"
}

const INSERT: &str =
    "INSERT INTO password_resets (hash, user_id, expires_ms, by_user_id) VALUES ($1, $2, $3, $4)";
const DELETE_OF_USER: &str = "DELETE FROM password_resets WHERE user_id = $1";
const DELETE_OLD: &str = "DELETE FROM password_resets WHERE expires_ms < $1";
const RESET: &str = resets!("WHERE password_resets.hash = $1 AND password_resets.expires_ms > $2");
const SET_BY_RESET: &str = "UPDATE users SET password_hash = $2, failed_logins = 0 WHERE id = $1 \
     AND EXISTS (SELECT 1 FROM password_resets WHERE hash = $3 AND user_id = $1 \
     AND expires_ms > $4)";
const REVOKE_BY_RESET: &str = "UPDATE tokens SET revoked_ms = $2, label = NULL WHERE user_id = $1 \
     AND revoked_ms IS NULL AND EXISTS (SELECT 1 FROM password_resets WHERE hash = $3 \
     AND user_id = $1 AND expires_ms > $2)";
const USE_UP: &str = "DELETE FROM password_resets WHERE user_id = $1 AND EXISTS \
     (SELECT 1 FROM password_resets AS used WHERE used.hash = $2 AND used.user_id = $1)";
const SET: &str = "UPDATE users SET password_hash = $2, failed_logins = 0 WHERE id = $1";

pub(crate) const STATEMENTS: &[&str] = &[
    INSERT,
    DELETE_OF_USER,
    DELETE_OLD,
    RESET,
    SET_BY_RESET,
    REVOKE_BY_RESET,
    USE_UP,
    SET,
];

impl Store {
    /// Writes a reset token for the user, valid until `expires_ms`; earlier reset tokens of the
    /// user become invalid.
    pub async fn insert_password_reset(
        &self,
        hash: &[u8; 32],
        user_id: &str,
        by_user_id: &str,
        expires_ms: i64,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let steps = [
            SqlStatement::new(DELETE_OLD, values![now_ms]),
            SqlStatement::new(DELETE_OF_USER, values![user_id]),
            SqlStatement::new(INSERT, values![hash, user_id, expires_ms, by_user_id]),
        ];
        self.execute_all(steps).await.map(drop)
    }

    /// Deletes all reset tokens of these users.
    pub async fn delete_password_resets(&self, user_ids: &[String]) -> Result<(), StoreError> {
        let steps: Vec<_> = user_ids
            .iter()
            .map(|id| SqlStatement::new(DELETE_OF_USER, values![id]))
            .collect();
        if steps.is_empty() {
            return Ok(());
        }
        self.execute_all(steps).await.map(drop)
    }

    /// A reset token that has not expired.
    pub async fn password_reset(
        &self,
        hash: &[u8; 32],
        now_ms: i64,
    ) -> Result<Option<PasswordResetRow>, StoreError> {
        self.query_one(RESET, values![hash, now_ms]).await
    }

    /// Sets the password by a reset token, which is used up. All tokens of the user end, and failed
    /// logins are reset to 0. `false`: the reset token is not valid (any more).
    pub async fn set_password_by_reset(
        &self,
        hash: &[u8; 32],
        user_id: &str,
        password_hash: &str,
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        let set = values![user_id, password_hash, hash, now_ms];
        let steps = [
            SqlStatement::new(SET_BY_RESET, set),
            SqlStatement::new(REVOKE_BY_RESET, values![user_id, now_ms, hash]),
            SqlStatement::new(USE_UP, values![user_id, hash]),
        ];
        let rows = self.execute_all(steps).await?;
        Ok(rows.first().is_some_and(|set| *set > 0))
    }

    /// Sets the password. The tokens of the user end, except the one with the hash `but`, and so do
    /// the user's reset tokens.
    pub async fn set_password(
        &self,
        user_id: &str,
        password_hash: &str,
        but: Option<&[u8; 32]>,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let steps = [
            SqlStatement::new(SET, values![user_id, password_hash]),
            SqlStatement::new(DELETE_OF_USER, values![user_id]),
            revoke_of_user(user_id, but, now_ms),
        ];
        self.execute_all(steps).await.map(drop)
    }
}
