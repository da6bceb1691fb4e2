//! Login, the current user and revocation of tokens: `POST /rbac-api/v1/auth/token` and related
//! routes.

use std::fmt;

use partial_debug::partial_debug;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::parameters::Parameters;
use crate::{ApiError, PreciseTimestamp};

/// Login with a password. `Debug` omits the password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginRequest {
    /// Login name of the user.
    pub login: String,
    /// Password of the user.
    #[schema(format = Password)]
    pub password: String,
    /// Lifetime of the token as `<number>[smhdy]`, in seconds without a letter; `0`: the longest
    /// permitted; absent: one hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "4h")]
    pub lifetime: Option<String>,
    /// Label by which the token can be revoked; unique among the tokens of a user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Purpose of the token, in free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Name of the program that requests the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

/// A new token. `Debug` omits the token.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenReply {
    /// The token, URL-safe; it is never shown again.
    pub token: String,
}

/// Tokens to revoke, named by value, label, owner or id.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeTokens {
    /// Values of the tokens.
    #[serde(default)]
    pub revoke_tokens: Vec<String>,
    /// Labels of the caller's own tokens.
    #[serde(default)]
    pub revoke_tokens_by_labels: Vec<String>,
    /// Logins of users whose tokens are all revoked.
    #[serde(default)]
    pub revoke_tokens_by_usernames: Vec<String>,
    /// Ids of the tokens.
    #[serde(default)]
    pub revoke_tokens_by_ids: Vec<String>,
}

impl RevokeTokens {
    /// Reads the query parameters, each a list separated by commas.
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

    /// Returns true if no token is named.
    pub fn is_empty(&self) -> bool {
        self.revoke_tokens.is_empty()
            && self.revoke_tokens_by_labels.is_empty()
            && self.revoke_tokens_by_usernames.is_empty()
            && self.revoke_tokens_by_ids.is_empty()
    }

    /// Adds the tokens that `other` names.
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

/// A user: an item of lists, and the reply to `GET /rbac-api/v1/users/current`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct User {
    /// UUID of the user.
    pub id: String,
    /// Login name of the user.
    pub login: String,
    /// E-mail address; empty if it is unknown.
    #[serde(default)]
    pub email: String,
    /// Name that lists and user interfaces show.
    #[serde(default)]
    pub display_name: String,
    /// Ids of the roles that the user has directly, not through groups; empty in `GET v2/users`
    /// without `include_roles`.
    #[serde(default)]
    pub role_ids: Vec<i64>,
    /// Ids of the roles that the user has through groups.
    #[serde(default)]
    pub inherited_role_ids: Vec<i64>,
    /// Ids of the user's groups.
    #[serde(default)]
    pub group_ids: Vec<String>,
    /// Always false, since this is a user and not a group.
    #[serde(default)]
    pub is_group: bool,
    /// True if the user comes from an external directory (LDAP or OIDC).
    #[serde(default)]
    pub is_remote: bool,
    /// True if the user has every permission.
    #[serde(default)]
    pub is_superuser: bool,
    /// True if the user was revoked, or is locked after failed logins.
    #[serde(default)]
    pub is_revoked: bool,
    /// Time of the user's last login; null if there was none.
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

partial_debug!(TokenReply {});

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
