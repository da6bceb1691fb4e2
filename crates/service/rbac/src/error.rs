//! Errors of changes to users, user groups, roles and passwords: [`ManageError`].

use store::StoreError;

use crate::password_change::PasswordFault;
use crate::{GrantError, HashError, PermissionDenied};

/// Reason why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ManageError {
    /// The caller lacks the permission for the change, or a permission that the change would grant.
    #[error(transparent)]
    Denied(#[from] PermissionDenied),
    /// There is no user, group, role or task target with this id.
    #[error("there is no {what} with the id {id:?}")]
    Unknown {
        /// `user`, `group`, `role` or `task target`.
        what: &'static str,
        /// The id as the caller wrote it.
        id: String,
    },
    /// The request refers to a user, group or role that does not exist.
    #[error("there is no {what} with the id {id:?}, which this refers to")]
    Associated {
        /// `user`, `group` or `role`.
        what: &'static str,
        /// The id as the caller wrote it.
        id: String,
    },
    /// Another user, group or role has the name.
    #[error("there is a {what} named {name:?} already")]
    Conflict {
        /// `user`, `group` or `role`.
        what: &'static str,
        /// The name that is taken.
        name: String,
    },
    /// Roles still refer to the task target.
    #[error(
        "roles permit this task target: {}; take tasks:run_with_constraints of it from them first",
        .roles.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
    )]
    InUse {
        /// Ids of these roles.
        roles: Vec<i64>,
    },
    /// The maximum number of task targets exists already.
    #[error(
        "there are {} task targets, which is as many as there may be; delete one that no role names",
        crate::defaults::TASK_TARGETS
    )]
    TooManyTaskTargets,
    /// The user is `admin` or `api_user`.
    #[error("the users admin and api_user cannot be changed or deleted, nor given roles")]
    AdminImmutable,
    /// The role is one of the default roles, 1 to 5.
    #[error(
        "this is a default role: only its members can be changed; make a role of your own instead"
    )]
    DefaultRole,
    /// The user is remote: the directory has the password.
    #[error("this user comes from a directory, which keeps the password")]
    RemoteUser,
    /// The current password is wrong.
    #[error("the current password is wrong")]
    CurrentPassword,
    /// There were too many wrong passwords.
    #[error("too many wrong passwords; try again in {} seconds", .wait.as_secs().max(1))]
    LockedOut {
        /// Remaining time of the lock.
        wait: std::time::Duration,
    },
    /// The reset token is unknown, used or too old.
    #[error("the reset token is not good: it is wrong, was used, or is older than a day")]
    ResetToken,
    /// The new password is not acceptable.
    #[error("the password {0}")]
    Password(PasswordFault),
    /// No role can have the permission.
    #[error(transparent)]
    Grant(#[from] GrantError),
    /// A text is blank, too long, or has control characters.
    #[error("{place} {what}")]
    Invalid {
        /// Key of the text in the request.
        place: &'static str,
        /// Description of the fault.
        what: &'static str,
    },
    /// The password cannot be hashed.
    #[error(transparent)]
    Hash(#[from] HashError),
    /// The store failed.
    #[error("cannot read or write users and roles")]
    Store(#[from] StoreError),
}

/// Trims and validates a name: not blank, not too long, no control characters.
pub(crate) fn validate_name(place: &'static str, text: &str) -> Result<String, ManageError> {
    let text = validate_text(place, text, crate::defaults::NAME_CHARS)?;
    if text.is_empty() {
        let what = "is blank";
        return Err(ManageError::Invalid { place, what });
    }
    Ok(text)
}

/// Trims and validates a text that may be empty.
pub(crate) fn validate_text(
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
