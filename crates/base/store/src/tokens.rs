//! Tokens: what a logged-in user shows. Only their hashes are kept.
//!
//! The rule: a token that was revoked stays so; it is remembered until its row is swept away, so
//! that whoever shows it is told, and no statement takes the mark off.

use crate::StoreError;
use crate::step::Step;
use crate::store::Store;
use crate::value::{ColumnError, Columns, FromRow, Value};

/// A token to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewToken {
    /// SHA-256 of the token.
    pub hash: [u8; 32],
    /// A UUID, to name it without knowing it.
    pub id: String,
    /// Whose.
    pub user_id: String,
    /// For people.
    pub label: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Which program asked.
    pub client: Option<String>,
    /// When.
    pub created_ms: i64,
    /// Good until then; `None`: for ever.
    pub expires_ms: Option<i64>,
    /// Good for so long after its last use; `None`: does not matter.
    pub timeout_ms: Option<i64>,
}

/// A token as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRow {
    /// SHA-256 of the token.
    pub hash: Vec<u8>,
    /// A UUID.
    pub id: String,
    /// Whose.
    pub user_id: String,
    /// For people.
    pub label: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Which program asked.
    pub client: Option<String>,
    /// When it was written.
    pub created_ms: i64,
    /// Good until then; `None`: for ever. The caller compares: the store has no clock.
    pub expires_ms: Option<i64>,
    /// Its last use, as far as it was written.
    pub last_active_ms: Option<i64>,
    /// Good for so long after its last use.
    pub timeout_ms: Option<i64>,
    /// When it was revoked.
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

/// Revokes the tokens of a user but for the one with the hash `but`.
pub(crate) fn revoke_of_user(user_id: &str, but: Option<&[u8; 32]>, now_ms: i64) -> Step<'static> {
    // No hash is empty.
    let but = but.map(|hash| hash.to_vec()).unwrap_or_default();
    Step {
        sql: REVOKE_OF_USER,
        values: vec![
            Value::owned(user_id),
            Value::Int(now_ms),
            Value::Blob(but.into()),
        ],
    }
}

// === impl Store ===

impl Store {
    /// Refused for an unknown user.
    pub async fn insert_token(&self, token: NewToken) -> Result<(), StoreError> {
        let values = vec![
            Value::Blob(token.hash.to_vec().into()),
            Value::owned(&token.id),
            Value::owned(&token.user_id),
            Value::opt_owned(token.label.as_deref()),
            Value::opt_owned(token.description.as_deref()),
            Value::opt_owned(token.client.as_deref()),
            Value::Int(token.created_ms),
            Value::opt_int(token.expires_ms),
            Value::opt_int(token.timeout_ms),
        ];
        let sql = INSERT;
        self.execute(Step { sql, values }).await.map(|_| ())
    }

    /// The token with this hash, expired and revoked or not.
    pub async fn token_by_hash(&self, hash: &[u8; 32]) -> Result<Option<TokenRow>, StoreError> {
        self.query_one(BY_HASH, vec![Value::Blob(hash.to_vec().into())])
            .await
    }

    /// The token with this id, expired and revoked or not.
    pub async fn token_by_id(&self, id: &str) -> Result<Option<TokenRow>, StoreError> {
        self.query_one(BY_ID, vec![Value::owned(id)]).await
    }

    /// A user's tokens that are not revoked, oldest first.
    pub async fn tokens_of(&self, user_id: &str) -> Result<Vec<TokenRow>, StoreError> {
        self.query(OF_USER, vec![Value::owned(user_id)]).await
    }

    /// How many tokens of a user are not revoked.
    pub async fn count_tokens_of(&self, user_id: &str) -> Result<u64, StoreError> {
        let count: Option<i64> = self.query_one(COUNT, vec![Value::owned(user_id)]).await?;
        Ok(u64::try_from(count.unwrap_or(0)).unwrap_or(0))
    }

    /// Writes when tokens were last used. Never earlier than what is there.
    pub async fn tokens_active(&self, uses: Vec<([u8; 32], i64)>) -> Result<(), StoreError> {
        let step = |(hash, at_ms): ([u8; 32], i64)| Step {
            sql: ACTIVE,
            values: vec![Value::Blob(hash.to_vec().into()), Value::Int(at_ms)],
        };
        let steps: Vec<_> = uses.into_iter().map(step).collect();
        if steps.is_empty() {
            return Ok(());
        }
        self.execute_all(steps).await.map(|_| ())
    }

    /// `false`: there was none, or it was revoked before.
    pub async fn revoke_token(&self, hash: &[u8; 32], now_ms: i64) -> Result<bool, StoreError> {
        let values = vec![Value::Blob(hash.to_vec().into()), Value::Int(now_ms)];
        let sql = REVOKE;
        Ok(self.execute(Step { sql, values }).await? > 0)
    }

    /// All tokens of a user, but for one; says how many.
    pub async fn revoke_tokens_of(
        &self,
        user_id: &str,
        but: Option<&[u8; 32]>,
        now_ms: i64,
    ) -> Result<u64, StoreError> {
        self.execute(revoke_of_user(user_id, but, now_ms)).await
    }

    /// Tokens that ended before `before_ms`, either way; says how many.
    pub async fn delete_old_tokens(&self, before_ms: i64) -> Result<u64, StoreError> {
        let (sql, values) = (DELETE_OLD, vec![Value::Int(before_ms)]);
        self.execute(Step { sql, values }).await
    }
}

impl FromRow for TokenRow {
    fn from_row(row: &dyn Columns) -> Result<Self, ColumnError> {
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
