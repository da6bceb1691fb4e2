//! Changes of passwords, and password reset tokens.
//!
//! Invariant: a reset token is used up in the transaction that sets the password, and all other
//! tokens of the user end in it.

use crate::StoreError;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::tokens::revoke_of_user;
use crate::value::{ColumnError, FromRow, RowColumns, SqlValue};

const INSERT: &str =
    "INSERT INTO password_resets (hash, user_id, expires_ms, by_user_id) VALUES ($1, $2, $3, $4)";
const DELETE_OF_USER: &str = "DELETE FROM password_resets WHERE user_id = $1";
const DELETE_OLD: &str = "DELETE FROM password_resets WHERE expires_ms < $1";
const RESET: &str = "SELECT users.id, users.login, password_resets.by_user_id FROM password_resets \
     JOIN users ON users.id = password_resets.user_id \
     WHERE password_resets.hash = $1 AND password_resets.expires_ms > $2";
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

/// A stored password reset token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasswordResetRow {
    /// Id of the user whose password it sets.
    pub user_id: String,
    /// Login of that user.
    pub login: String,
    /// Id of the user who created it, and on whose permissions its validity depends.
    pub by_user_id: String,
}

impl FromRow for PasswordResetRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self {
            user_id: row.text(0)?,
            login: row.text(1)?,
            by_user_id: row.text(2)?,
        })
    }
}

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
        let step = |sql, values| SqlStatement { sql, values };
        let hash = SqlValue::Blob(hash.to_vec().into());
        let values = vec![
            hash,
            SqlValue::owned_text(user_id),
            SqlValue::Int(expires_ms),
            SqlValue::owned_text(by_user_id),
        ];
        let steps = vec![
            step(DELETE_OLD, vec![SqlValue::Int(now_ms)]),
            step(DELETE_OF_USER, vec![SqlValue::owned_text(user_id)]),
            step(INSERT, values),
        ];
        self.execute_all(steps).await.map(|_| ())
    }

    /// Deletes all reset tokens of these users.
    pub async fn delete_password_resets(&self, user_ids: &[String]) -> Result<(), StoreError> {
        let step = |id: &String| SqlStatement {
            sql: DELETE_OF_USER,
            values: vec![SqlValue::owned_text(id)],
        };
        let steps: Vec<_> = user_ids.iter().map(step).collect();
        if steps.is_empty() {
            return Ok(());
        }
        self.execute_all(steps).await.map(|_| ())
    }

    /// A reset token that has not expired.
    pub async fn password_reset(
        &self,
        hash: &[u8; 32],
        now_ms: i64,
    ) -> Result<Option<PasswordResetRow>, StoreError> {
        let values = vec![SqlValue::Blob(hash.to_vec().into()), SqlValue::Int(now_ms)];
        self.query_one(RESET, values).await
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
        let id = || SqlValue::owned_text(user_id);
        let hash = || SqlValue::Blob(hash.to_vec().into());
        let step = |sql, values| SqlStatement { sql, values };
        let password = SqlValue::owned_text(password_hash);
        let steps = vec![
            step(
                SET_BY_RESET,
                vec![id(), password, hash(), SqlValue::Int(now_ms)],
            ),
            step(REVOKE_BY_RESET, vec![id(), SqlValue::Int(now_ms), hash()]),
            step(USE_UP, vec![id(), hash()]),
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
        let step = |sql, values| SqlStatement { sql, values };
        let values = vec![
            SqlValue::owned_text(user_id),
            SqlValue::owned_text(password_hash),
        ];
        let steps = vec![
            step(SET, values),
            step(DELETE_OF_USER, vec![SqlValue::owned_text(user_id)]),
            revoke_of_user(user_id, but, now_ms),
        ];
        self.execute_all(steps).await.map(|_| ())
    }
}
