//! Passwords: changing, resetting and validating them.
//!
//! Invariant: `Debug` never shows a password.

use partial_debug::partial_debug;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Body of `PUT users/current/password`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnPassword {
    /// Current password of the user.
    #[schema(format = Password)]
    pub current_password: String,
    /// New password of the user.
    #[schema(format = Password)]
    pub password: String,
}

/// Reply to `POST users/:sid/password/reset`: the reset token, which is never shown again.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResetToken(pub String);

/// Body of `POST auth/reset`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordReset {
    /// Reset token that an administrator issued.
    pub token: String,
    /// New password of the user.
    #[schema(format = Password)]
    pub password: String,
}

/// Body of `POST command/validate-password`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidatePassword {
    /// Password to validate; it is not stored.
    #[schema(format = Password)]
    pub password: String,
    /// Reset token of the user whose password is to change; absent: none.
    #[serde(default, rename = "reset-token")]
    pub reset_token: Option<String>,
}

/// Body of `POST command/validate-login`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidateLogin {
    /// Login name of a new user; acceptable if it is not blank and no user has it.
    pub login: String,
}

/// Result of the validation of a password or login.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Validity {
    /// True if the password or login is acceptable.
    pub valid: bool,
    /// The first rule that it breaks; empty if it is acceptable.
    pub failures: Vec<PasswordFailure>,
}

/// A rule that the password or login breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct PasswordFailure {
    /// Stable identifier of the rule.
    pub rule_identifier: String,
    /// Sentence that describes the rule.
    pub friendly_error: String,
}

partial_debug!(
    OwnPassword {},
    ResetToken {},
    PasswordReset {},
    ValidatePassword {}
);
