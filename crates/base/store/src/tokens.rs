//! Tokens with which logged-in users authenticate. Only their hashes are stored.
//!
//! Invariant: a revoked token is never valid again. Its row stays until it is swept, so that a
//! client that uses the token learns the reason, and no statement removes the mark.

use crate::StoreError;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::{ColumnError, FromRow, RowColumns, SqlValue};

/// A token that is not written yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewTokenRow {
    /// SHA-256 of the token.
    pub hash: [u8; 32],
    /// UUID by which the token is named without being disclosed.
    pub id: String,
    /// Id of the token's user.
    pub user_id: String,
    /// Label shown to users.
    pub label: Option<String>,
    /// Purpose of the token, given by the user.
    pub description: Option<String>,
    /// Program that requested the token.
    pub client: Option<String>,
    /// Time of creation in milliseconds since 1970.
    pub created_ms: i64,
    /// Expiry in milliseconds since 1970; `None`: never.
    pub expires_ms: Option<i64>,
    /// Validity after the last use, in milliseconds; `None`: unlimited.
    pub timeout_ms: Option<i64>,
}

/// A stored token without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRow {
    /// SHA-256 of the token.
    pub hash: Vec<u8>,
    /// UUID of the token.
    pub id: String,
    /// Id of the token's user.
    pub user_id: String,
    /// Label shown to users.
    pub label: Option<String>,
    /// Purpose of the token, given by the user.
    pub description: Option<String>,
    /// Program that requested the token.
    pub client: Option<String>,
    /// Time of creation in milliseconds since 1970.
    pub created_ms: i64,
    /// Expiry in milliseconds since 1970; `None`: never. The caller compares it: the store has no
    /// clock.
    pub expires_ms: Option<i64>,
    /// Last recorded use in milliseconds since 1970; `None`: none was recorded.
    pub last_active_ms: Option<i64>,
    /// Validity after the last use, in milliseconds; `None`: unlimited.
    pub timeout_ms: Option<i64>,
    /// Time of the revocation in milliseconds since 1970; `None`: not revoked.
    pub revoked_ms: Option<i64>,
}

macro_rules! columns {
    () => {
        "hash, id, user_id, label, description, client, created_ms, expires_ms, last_active_ms, \
         timeout_ms, revoked_ms"
    };
}

const INSERT: &str = "INSERT INTO tokens (hash, id, user_id, label, description, client, \
     created_ms, expires_ms, timeout_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
const BY_HASH: &str = concat!("SELECT ", columns!(), " FROM tokens WHERE hash = $1");
const BY_ID: &str = concat!("SELECT ", columns!(), " FROM tokens WHERE id = $1");
const OF_USER: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM tokens WHERE user_id = $1 AND revoked_ms IS NULL ORDER BY created_ms, hash"
);
const COUNT: &str = "SELECT COUNT(*) FROM tokens WHERE user_id = $1 AND revoked_ms IS NULL";
const ACTIVE: &str = "UPDATE tokens SET last_active_ms = $2 WHERE hash = $1 \
     AND (last_active_ms IS NULL OR last_active_ms < $2)";
const REVOKE: &str =
    "UPDATE tokens SET revoked_ms = $2, label = NULL WHERE hash = $1 AND revoked_ms IS NULL";
const REVOKE_OF_USER: &str = "UPDATE tokens SET revoked_ms = $2, label = NULL \
     WHERE user_id = $1 AND revoked_ms IS NULL AND hash <> $3";
const DELETE_OLD: &str = "DELETE FROM tokens WHERE expires_ms < $1 OR revoked_ms < $1";

pub(crate) const STATEMENTS: &[&str] = &[
    INSERT,
    BY_HASH,
    BY_ID,
    OF_USER,
    COUNT,
    ACTIVE,
    REVOKE,
    REVOKE_OF_USER,
    DELETE_OLD,
];

/// Revokes the tokens of a user except the one with the hash `but`.
pub(crate) fn revoke_of_user(
    user_id: &str,
    but: Option<&[u8; 32]>,
    now_ms: i64,
) -> SqlStatement<'static> {
    // No hash is empty, so this one matches no token.
    let but = but.map(|hash| hash.to_vec()).unwrap_or_default();
    SqlStatement {
        sql: REVOKE_OF_USER,
        values: vec![
            SqlValue::owned_text(user_id),
            SqlValue::Int(now_ms),
            SqlValue::Blob(but.into()),
        ],
    }
}

// === impl Store ===

impl Store {
    /// Writes a token. Refused if the user does not exist.
    pub async fn insert_token(&self, token: NewTokenRow) -> Result<(), StoreError> {
        let values = vec![
            SqlValue::Blob(token.hash.to_vec().into()),
            SqlValue::owned_text(&token.id),
            SqlValue::owned_text(&token.user_id),
            SqlValue::opt_owned_text(token.label.as_deref()),
            SqlValue::opt_owned_text(token.description.as_deref()),
            SqlValue::opt_owned_text(token.client.as_deref()),
            SqlValue::Int(token.created_ms),
            SqlValue::opt_int(token.expires_ms),
            SqlValue::opt_int(token.timeout_ms),
        ];
        let sql = INSERT;
        self.execute(SqlStatement { sql, values }).await.map(|_| ())
    }

    /// The token with this hash, even if expired or revoked.
    pub async fn token_by_hash(&self, hash: &[u8; 32]) -> Result<Option<TokenRow>, StoreError> {
        self.query_one(BY_HASH, vec![SqlValue::Blob(hash.to_vec().into())])
            .await
    }

    /// The token with this id, even if expired or revoked.
    pub async fn token_by_id(&self, id: &str) -> Result<Option<TokenRow>, StoreError> {
        self.query_one(BY_ID, vec![SqlValue::owned_text(id)]).await
    }

    /// A user's tokens that are not revoked, oldest first.
    pub async fn tokens_of(&self, user_id: &str) -> Result<Vec<TokenRow>, StoreError> {
        self.query(OF_USER, vec![SqlValue::owned_text(user_id)])
            .await
    }

    /// The number of a user's tokens that are not revoked.
    pub async fn count_tokens_of(&self, user_id: &str) -> Result<u64, StoreError> {
        let count: Option<i64> = self
            .query_one(COUNT, vec![SqlValue::owned_text(user_id)])
            .await?;
        Ok(u64::try_from(count.unwrap_or(0)).unwrap_or(0))
    }

    /// Records the last uses of tokens. A later recorded use is never overwritten.
    pub async fn tokens_active(&self, uses: Vec<([u8; 32], i64)>) -> Result<(), StoreError> {
        let step = |(hash, at_ms): ([u8; 32], i64)| SqlStatement {
            sql: ACTIVE,
            values: vec![SqlValue::Blob(hash.to_vec().into()), SqlValue::Int(at_ms)],
        };
        let steps: Vec<_> = uses.into_iter().map(step).collect();
        if steps.is_empty() {
            return Ok(());
        }
        self.execute_all(steps).await.map(|_| ())
    }

    /// Revokes a token. `false`: it does not exist, or was revoked already.
    pub async fn revoke_token(&self, hash: &[u8; 32], now_ms: i64) -> Result<bool, StoreError> {
        let values = vec![SqlValue::Blob(hash.to_vec().into()), SqlValue::Int(now_ms)];
        let sql = REVOKE;
        Ok(self.execute(SqlStatement { sql, values }).await? > 0)
    }

    /// Revokes all tokens of a user except one. Returns the number revoked.
    pub async fn revoke_tokens_of(
        &self,
        user_id: &str,
        but: Option<&[u8; 32]>,
        now_ms: i64,
    ) -> Result<u64, StoreError> {
        self.execute(revoke_of_user(user_id, but, now_ms)).await
    }

    /// Deletes tokens that expired or were revoked before `before_ms`. Returns the number deleted.
    pub async fn delete_old_tokens(&self, before_ms: i64) -> Result<u64, StoreError> {
        let (sql, values) = (DELETE_OLD, vec![SqlValue::Int(before_ms)]);
        self.execute(SqlStatement { sql, values }).await
    }
}

impl FromRow for TokenRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self {
            hash: row.blob(0)?,
            id: row.text(1)?,
            user_id: row.text(2)?,
            label: row.opt_text(3)?,
            description: row.opt_text(4)?,
            client: row.opt_text(5)?,
            created_ms: row.int(6)?,
            expires_ms: row.opt_int(7)?,
            last_active_ms: row.opt_int(8)?,
            timeout_ms: row.opt_int(9)?,
            revoked_ms: row.opt_int(10)?,
        })
    }
}
