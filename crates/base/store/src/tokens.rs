//! Tokens with which logged-in users authenticate. Only their hashes are stored.
//!
//! Invariant: a revoked token is never valid again. Its row stays until it is swept, so that a
//! client that uses the token learns the reason, and no statement removes the mark.

use crate::StoreError;
use crate::rows::row;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;

row! {
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
    } write columns new_columns
}

row! {
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
        /// Expiry in milliseconds since 1970; `None`: never. The caller compares it: the store has
        /// no clock.
        pub expires_ms: Option<i64>,
        /// Last recorded use in milliseconds since 1970; `None`: none was recorded.
        pub last_active_ms: Option<i64>,
        /// Validity after the last use, in milliseconds; `None`: unlimited.
        pub timeout_ms: Option<i64>,
        /// Time of the revocation in milliseconds since 1970; `None`: not revoked.
        pub revoked_ms: Option<i64>,
    } read select tokens from "tokens"
}

const INSERT: &str = concat!(
    "INSERT INTO tokens (",
    new_columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
);
const BY_HASH: &str = tokens!("WHERE hash = $1");
const BY_ID: &str = tokens!("WHERE id = $1");
const OF_USER: &str =
    tokens!("WHERE user_id = $1 AND revoked_ms IS NULL ORDER BY created_ms, hash");
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
pub(crate) fn revoke_of_user<'a>(
    user_id: &'a str,
    but: Option<&'a [u8; 32]>,
    now_ms: i64,
) -> SqlStatement<'a> {
    // No hash is empty, so this one matches no token.
    let but: &[u8] = but.map_or(&[], |hash| hash);
    SqlStatement::new(REVOKE_OF_USER, values![user_id, now_ms, but])
}

// === impl Store ===

impl Store {
    /// Writes a token. Refused if the user does not exist.
    pub async fn insert_token(&self, token: NewTokenRow) -> Result<(), StoreError> {
        self.execute(INSERT, values![token]).await.map(drop)
    }

    /// The token with this hash, even if expired or revoked.
    pub async fn token_by_hash(&self, hash: &[u8; 32]) -> Result<Option<TokenRow>, StoreError> {
        self.query_one(BY_HASH, values![hash]).await
    }

    /// The token with this id, even if expired or revoked.
    pub async fn token_by_id(&self, id: &str) -> Result<Option<TokenRow>, StoreError> {
        self.query_one(BY_ID, values![id]).await
    }

    /// A user's tokens that are not revoked, oldest first.
    pub async fn tokens_of(&self, user_id: &str) -> Result<Vec<TokenRow>, StoreError> {
        self.query(OF_USER, values![user_id]).await
    }

    /// The number of a user's tokens that are not revoked.
    pub async fn count_tokens_of(&self, user_id: &str) -> Result<u64, StoreError> {
        self.count(COUNT, values![user_id]).await
    }

    /// Records the last uses of tokens. A later recorded use is never overwritten.
    pub async fn tokens_active(&self, uses: Vec<([u8; 32], i64)>) -> Result<(), StoreError> {
        if uses.is_empty() {
            return Ok(());
        }
        let steps = uses
            .iter()
            .map(|(hash, at_ms)| SqlStatement::new(ACTIVE, values![hash, at_ms]));
        self.execute_all(steps).await.map(drop)
    }

    /// Revokes a token. `false`: it does not exist, or was revoked already.
    pub async fn revoke_token(&self, hash: &[u8; 32], now_ms: i64) -> Result<bool, StoreError> {
        Ok(self.execute(REVOKE, values![hash, now_ms]).await? > 0)
    }

    /// Revokes all tokens of a user except one. Returns the number revoked.
    pub async fn revoke_tokens_of(
        &self,
        user_id: &str,
        but: Option<&[u8; 32]>,
        now_ms: i64,
    ) -> Result<u64, StoreError> {
        let SqlStatement { sql, values } = revoke_of_user(user_id, but, now_ms);
        self.execute(sql, values).await
    }

    /// Deletes tokens that expired or were revoked before `before_ms`. Returns the number deleted.
    pub async fn delete_old_tokens(&self, before_ms: i64) -> Result<u64, StoreError> {
        self.execute(DELETE_OLD, values![before_ms]).await
    }
}
