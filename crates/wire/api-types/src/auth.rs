//! Tokens: `POST /rbac-api/v1/auth/token` and its like.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::parameters::Parameters;
use crate::{ApiError, PreciseTimestamp};

/// A login. Its `Debug` leaves the password out.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginRequest {
    /// The user.
    pub login: String,
    /// The password.
    #[schema(format = Password)]
    pub password: String,
    /// `<number>[smhdy]`, seconds without a letter, `0`: the longest; absent: an hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "4h")]
    pub lifetime: Option<String>,
    /// A name to revoke the token by; unique for each user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What the token is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Which program asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

/// A new token. Its `Debug` leaves the token out.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenReply {
    /// URL-safe; shown only here.
    pub token: String,
}

/// Tokens to revoke, with the token itself in hand.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeTokens {
    /// The tokens.
    #[serde(default)]
    pub revoke_tokens: Vec<String>,
    /// Labels of one's own tokens.
    #[serde(default)]
    pub revoke_tokens_by_labels: Vec<String>,
    /// Logins: all tokens of these users.
    #[serde(default)]
    pub revoke_tokens_by_usernames: Vec<String>,
    /// Ids of tokens.
    #[serde(default)]
    pub revoke_tokens_by_ids: Vec<String>,
}

impl RevokeTokens {
    /// From query parameters, each a list with commas between.
    ///
    /// # Errors
    /// A validation error that names the parameter.
    pub fn read(mut given: Parameters) -> Result<Self, ApiError> {
        let tokens = Self {
            revoke_tokens: list(given.text("revoke_tokens")),
            revoke_tokens_by_labels: list(given.text("revoke_tokens_by_labels")),
            revoke_tokens_by_usernames: list(given.text("revoke_tokens_by_usernames")),
            revoke_tokens_by_ids: list(given.text("revoke_tokens_by_ids")),
        };
        given.finish()?;
        Ok(tokens)
    }

    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.revoke_tokens.is_empty()
            && self.revoke_tokens_by_labels.is_empty()
            && self.revoke_tokens_by_usernames.is_empty()
            && self.revoke_tokens_by_ids.is_empty()
    }

    /// Adds what `other` names.
    pub fn append(&mut self, other: Self) {
        self.revoke_tokens.extend(other.revoke_tokens);
        self.revoke_tokens_by_labels
            .extend(other.revoke_tokens_by_labels);
        self.revoke_tokens_by_usernames
            .extend(other.revoke_tokens_by_usernames);
        self.revoke_tokens_by_ids.extend(other.revoke_tokens_by_ids);
    }
}

fn list(text: Option<String>) -> Vec<String> {
    let text = text.unwrap_or_default();
    text.split(',')
        .filter(|item| !item.is_empty())
        .map(str::to_owned)
        .collect()
}

/// `GET /rbac-api/v1/users/current`: who the token belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct User {
    /// The UUID.
    pub id: String,
    /// The name to log in with.
    pub login: String,
    /// Empty when unknown.
    #[serde(default)]
    pub email: String,
    /// The name for people.
    #[serde(default)]
    pub display_name: String,
    /// Roles of the user himself.
    #[serde(default)]
    pub role_ids: Vec<i64>,
    /// Roles by way of groups.
    #[serde(default)]
    pub inherited_role_ids: Vec<i64>,
    /// Groups.
    #[serde(default)]
    pub group_ids: Vec<String>,
    /// Always false.
    #[serde(default)]
    pub is_group: bool,
    /// From a directory.
    #[serde(default)]
    pub is_remote: bool,
    /// May do everything.
    #[serde(default)]
    pub is_superuser: bool,
    /// May not log in any more.
    #[serde(default)]
    pub is_revoked: bool,
    /// The last login.
    #[serde(default)]
    pub last_login: Option<PreciseTimestamp>,
}

impl fmt::Debug for LoginRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("LoginRequest");
        debug
            .field("login", &self.login)
            .field("lifetime", &self.lifetime);
        debug.field("label", &self.label).finish_non_exhaustive()
    }
}

impl fmt::Debug for TokenReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenReply").finish_non_exhaustive()
    }
}

impl fmt::Debug for RevokeTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("RevokeTokens");
        debug.field("revoke_tokens", &self.revoke_tokens.len());
        debug
            .field("revoke_tokens_by_labels", &self.revoke_tokens_by_labels)
            .field(
                "revoke_tokens_by_usernames",
                &self.revoke_tokens_by_usernames,
            )
            .field("revoke_tokens_by_ids", &self.revoke_tokens_by_ids)
            .finish()
    }
}
