//! The faults of a password that is to be set: [`PasswordFault`].

use crate::defaults::{CREDENTIAL_BYTES, PASSWORD_CHARS};

/// Rule that a new password violates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordFault {
    /// The password has fewer than [`PASSWORD_CHARS`] characters.
    #[error("has less than {PASSWORD_CHARS} characters")]
    TooShort,
    /// The password has more than [`CREDENTIAL_BYTES`] bytes.
    #[error("has more than {CREDENTIAL_BYTES} bytes")]
    TooLong,
    /// The password equals the login.
    #[error("is the login")]
    IsLogin,
}

impl PasswordFault {
    /// Name of the rule in responses of the API.
    pub fn requirement(self) -> &'static str {
        match self {
            Self::TooShort => "minimum-length",
            Self::TooLong => "maximum-length",
            Self::IsLogin => "not-login",
        }
    }
}
