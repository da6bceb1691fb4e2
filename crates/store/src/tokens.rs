//! Tokens: what a logged-in user shows. Only their hashes are kept.

use crate::StoreError;
use crate::step::Step;
use crate::store::Store;
use crate::value::{ColumnError, Columns, FromRow, Value};

/// A token to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// SHA-256 of the token.
    pub hash: [u8; 32],
    /// Whose.
    pub user_id: String,
    /// For people.
    pub label: Option<String>,
    /// When.
    pub created_ms: i64,
    /// Good until then; `None`: for ever.
    pub expires_ms: Option<i64>,
}

/// A token as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRow {
    /// SHA-256 of the token.
    pub hash: Vec<u8>,
    /// Whose.
    pub user_id: String,
    /// For people.
    pub label: Option<String>,
    /// When it was written.
    pub created_ms: i64,
    /// Good until then; `None`: for ever. The caller compares: the store has no clock.
    pub expires_ms: Option<i64>,
}

const INSERT: &str = "INSERT INTO tokens (hash, user_id, label, created_ms, expires_ms) \
     VALUES ($1, $2, $3, $4, $5)";
const BY_HASH: &str =
    "SELECT hash, user_id, label, created_ms, expires_ms FROM tokens WHERE hash = $1";
const OF_USER: &str = "SELECT hash, user_id, label, created_ms, expires_ms FROM tokens \
     WHERE user_id = $1 ORDER BY created_ms, hash";
const DELETE: &str = "DELETE FROM tokens WHERE hash = $1";
const DELETE_OF_USER: &str = "DELETE FROM tokens WHERE user_id = $1";
const DELETE_EXPIRED: &str = "DELETE FROM tokens WHERE expires_ms < $1";

pub(crate) const STATEMENTS: &[&str] = &[
    INSERT,
    BY_HASH,
    OF_USER,
    DELETE,
    DELETE_OF_USER,
    DELETE_EXPIRED,
];

// === impl Store ===

impl Store {
    /// Refused for an unknown user.
    pub async fn insert_token(&self, token: NewToken) -> Result<(), StoreError> {
        let values = vec![
            Value::Blob(token.hash.to_vec().into()),
            Value::owned(&token.user_id),
            Value::opt_owned(token.label.as_deref()),
            Value::Int(token.created_ms),
            Value::opt_int(token.expires_ms),
        ];
        self.execute(Step {
            sql: INSERT,
            values,
        })
        .await
        .map(|_| ())
    }

    /// The token with this hash, expired or not.
    pub async fn token_by_hash(&self, hash: &[u8; 32]) -> Result<Option<TokenRow>, StoreError> {
        self.query_one(BY_HASH, vec![Value::Blob(hash.to_vec().into())])
            .await
    }

    /// A user's tokens, oldest first.
    pub async fn tokens_of(&self, user_id: &str) -> Result<Vec<TokenRow>, StoreError> {
        self.query(OF_USER, vec![Value::owned(user_id)]).await
    }

    /// `false`: there was none.
    pub async fn delete_token(&self, hash: &[u8; 32]) -> Result<bool, StoreError> {
        let values = vec![Value::Blob(hash.to_vec().into())];
        Ok(self
            .execute(Step {
                sql: DELETE,
                values,
            })
            .await?
            > 0)
    }

    /// All tokens of a user; says how many.
    pub async fn delete_tokens_of(&self, user_id: &str) -> Result<u64, StoreError> {
        let values = vec![Value::owned(user_id)];
        self.execute(Step {
            sql: DELETE_OF_USER,
            values,
        })
        .await
    }

    /// Tokens that ended before `now_ms`; says how many.
    pub async fn delete_expired_tokens(&self, now_ms: i64) -> Result<u64, StoreError> {
        let values = vec![Value::Int(now_ms)];
        self.execute(Step {
            sql: DELETE_EXPIRED,
            values,
        })
        .await
    }
}

impl FromRow for TokenRow {
    fn from_row(row: &dyn Columns) -> Result<Self, ColumnError> {
        Ok(Self {
            hash: row.blob(0)?,
            user_id: row.text(1)?,
            label: row.opt_text(2)?,
            created_ms: row.int(3)?,
            expires_ms: row.opt_int(4)?,
        })
    }
}
