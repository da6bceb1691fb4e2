//! Why a change of users, groups, roles or passwords did not take place: [`ManageError`].

use store::StoreError;

use crate::passwd::PasswordFault;
use crate::{GrantError, HashError, PermissionDenied};

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ManageError {
    /// A right is missing: the one to do this, or one that would be handed on.
    #[error(transparent)]
    Denied(#[from] PermissionDenied),
    /// No such user, group, role or task target.
    #[error("there is no {what} with the id {id:?}")]
    Unknown {
        /// `user`, `group`, `role` or `task target`.
        what: &'static str,
        /// As given.
        id: String,
    },
    /// A user, group or role that was named in passing does not exist.
    #[error("there is no {what} with the id {id:?}, which this refers to")]
    Associated {
        /// `user`, `group` or `role`.
        what: &'static str,
        /// As given.
        id: String,
    },
    /// The name is another's.
    #[error("there is a {what} named {name:?} already")]
    Conflict {
        /// `user`, `group` or `role`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A task target that roles name.
    #[error(
        "roles permit this task target: {}; take tasks:run_with_constraints of it from them first",
        .roles.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
    )]
    InUse {
        /// Their numbers.
        roles: Vec<i64>,
    },
    /// As many task targets as there may be.
    #[error(
        "there are {} task targets, which is as many as there may be; delete one that no role names",
        crate::defaults::TASK_TARGETS
    )]
    TooManyTaskTargets,
    /// `admin` or `api_user`.
    #[error("the users admin and api_user cannot be changed or deleted, nor given roles")]
    AdminImmutable,
    /// Role 1 to 5.
    #[error(
        "this is a default role: only its members can be changed; make a role of your own instead"
    )]
    DefaultRole,
    /// Its password is elsewhere.
    #[error("this user comes from a directory, which keeps the password")]
    RemoteUser,
    /// The password that was given as the present one is wrong.
    #[error("the current password is wrong")]
    CurrentPassword,
    /// Too many wrong passwords.
    #[error("too many wrong passwords; try again in {} seconds", .wait.as_secs().max(1))]
    LockedOut {
        /// How long.
        wait: std::time::Duration,
    },
    /// A reset token that is unknown, used or too old.
    #[error("the reset token is not good: it is wrong, was used, or is older than a day")]
    ResetToken,
    /// A password that is no good.
    #[error("the password {0}")]
    Password(PasswordFault),
    /// A permission that no role can give.
    #[error(transparent)]
    Grant(#[from] GrantError),
    /// A text that is blank, too long, or has control characters.
    #[error("{place} {what}")]
    Invalid {
        /// The key.
        place: &'static str,
        /// What is wrong.
        what: &'static str,
    },
    /// Hashing.
    #[error(transparent)]
    Hash(#[from] HashError),
    /// The store.
    #[error("cannot read or write users and roles")]
    Store(#[from] StoreError),
}

/// A name: not blank, not too long, no control characters; trimmed.
pub(crate) fn name(place: &'static str, text: &str) -> Result<String, ManageError> {
    let text = optional(place, text, crate::defaults::NAME_CHARS)?;
    if text.is_empty() {
        let what = "is blank";
        return Err(ManageError::Invalid { place, what });
    }
    Ok(text)
}

/// A text that may be empty; trimmed.
pub(crate) fn optional(
    place: &'static str,
    text: &str,
    max_chars: usize,
) -> Result<String, ManageError> {
    let text = text.trim();
    let invalid = |what| Err(ManageError::Invalid { place, what });
    if text.chars().count() > max_chars {
        return invalid("is too long");
    }
    if text
        .chars()
        .any(|c| c.is_control() && c != '\n' && c != '\t')
    {
        return invalid("has control characters");
    }
    Ok(text.to_owned())
}
