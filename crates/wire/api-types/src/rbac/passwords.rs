//! Passwords: set, reset, judged. No `Debug` here shows one.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `PUT users/current/password`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnPassword {
    /// The present one.
    #[schema(format = Password)]
    pub current_password: String,
    /// The new one.
    #[schema(format = Password)]
    pub password: String,
}

/// `POST users/:sid/password/reset`: shown only here.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResetToken(pub String);

/// `POST auth/reset`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordReset {
    /// The reset token.
    pub token: String,
    /// The new password.
    #[schema(format = Password)]
    pub password: String,
}

/// `POST command/validate-password`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidatePassword {
    /// What may become a password.
    #[schema(format = Password)]
    pub password: String,
    /// Of the user whose password it may become.
    #[serde(default, rename = "reset-token")]
    pub reset_token: Option<String>,
}

/// `POST command/validate-login`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidateLogin {
    /// What may become a login.
    pub login: String,
}

/// Whether something may be set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Validity {
    /// Whether it may.
    pub valid: bool,
    /// Why not.
    pub failures: Vec<PasswordFailure>,
}

/// A rule that is broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct PasswordFailure {
    /// For programs.
    pub rule_identifier: String,
    /// For people.
    pub friendly_error: String,
}

macro_rules! debug_without_secrets {
    ($($name:ident),*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )*};
}

debug_without_secrets!(OwnPassword, ResetToken, PasswordReset, ValidatePassword);
