//! The owner of a plan, with the current rights: [`identity`].
//!
//! Invariant: an owner who is revoked, deleted or removed from the directory has no rights, as for
//! scheduled jobs.

use rbac::{ManageError, Rbac, UserIdentity};
use store::StoreError;

/// Reason for which the user who owns a plan no longer has rights.
#[derive(Debug, thiserror::Error)]
pub(super) enum OwnerError {
    /// The user is no longer active.
    #[error("the owner {login} of the plan {what}")]
    Gone {
        /// Login that the user had when the plan was started.
        login: String,
        /// State of the user now, such as "was deleted" or "was revoked".
        what: &'static str,
    },
    /// The user cannot be read now.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The owner's rights now.
pub(super) async fn identity(
    access: &Rbac,
    login: &str,
    id: &str,
) -> Result<UserIdentity, OwnerError> {
    let gone = |what| OwnerError::Gone {
        login: login.to_owned(),
        what,
    };
    let read = |error| match error {
        ManageError::Store(error) => OwnerError::Store(error),
        _ => gone("does not exist any more"),
    };
    let user = access.user(id).await.map_err(read)?;
    if user.row.is_revoked {
        return Err(gone("is revoked"));
    }
    if user.row.is_remote && access.is_remote_user_gone(id).await? {
        return Err(gone("is not in its directory any more"));
    }
    access.load_identity(id).await.map_err(read)
}
