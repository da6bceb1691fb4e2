//! Errors of `rbac`, as clients get them.

use api_types::ApiError;
use api_types::kinds::{self, Kind};
use rbac::{
    AuthenticateError, HashError, IssueError, LoginError, ManageError, PermissionDenied,
    RevokeError, RevokeFaults,
};
use serde_json::json;
use std::time::Duration;

use crate::failure::ApiFailure;

impl From<PermissionDenied> for ApiFailure {
    fn from(denied: PermissionDenied) -> Self {
        lacking_error(kinds::NOT_PERMITTED, &denied)
    }
}

/// The error for a missing permission on routes under `/rbac-api`.
pub(crate) fn denied_error(denied: &PermissionDenied) -> ApiFailure {
    lacking_error(kinds::PERMISSION_DENIED, denied)
}

fn lacking_error(kind: Kind, denied: &PermissionDenied) -> ApiFailure {
    let refused = ApiError::new(kind, denied.to_string());
    ApiFailure(refused.with("permission", json!(denied.permission)))
}

impl From<AuthenticateError> for ApiFailure {
    fn from(error: AuthenticateError) -> Self {
        let kind = match error {
            AuthenticateError::Unknown => kinds::UNAUTHENTICATED,
            AuthenticateError::Revoked => kinds::TOKEN_REVOKED,
            AuthenticateError::Expired => kinds::TOKEN_EXPIRED,
            AuthenticateError::TimedOut => kinds::TOKEN_TIMED_OUT,
            AuthenticateError::UserRevoked => kinds::USER_REVOKED,
            AuthenticateError::Store(_) => return Self::internal("check the token", &error),
        };
        Self(ApiError::new(kind, error.to_string()))
    }
}

pub(crate) fn login_error(error: LoginError) -> ApiFailure {
    let text = error.to_string();
    let refused = match error {
        LoginError::Wrong => ApiError::new(kinds::UNAUTHENTICATED, text),
        LoginError::LockedOut { wait } => locked_out(text, wait),
        LoginError::Revoked | LoginError::Locked => ApiError::new(kinds::USER_REVOKED, text),
        LoginError::RemoteConflict | LoginError::OtherPerson => {
            ApiError::new(kinds::REMOTE_USER_CONFLICT, text)
        }
        LoginError::Directory(_) => ApiError::new(kinds::DIRECTORY_UNAVAILABLE, text),
        LoginError::Issue(error) => return issue_error(error),
        LoginError::Hash(HashError::Busy) => ApiError::new(kinds::UNAVAILABLE, text),
        LoginError::Hash(_) | LoginError::Store(_) => {
            return ApiFailure::internal("log in", &error);
        }
    };
    ApiFailure(refused)
}

pub(crate) fn issue_error(error: IssueError) -> ApiFailure {
    match error {
        IssueError::LabelTaken(_) => ApiError::invalid("label", error).into(),
        IssueError::TooLong { .. } | IssueError::OutlivesToken { .. } => {
            ApiError::invalid("lifetime", error).into()
        }
        IssueError::TooMany => ApiError::new(kinds::CONFLICT, error.to_string()).into(),
        IssueError::TokenEnded => ApiError::new(kinds::TOKEN_REVOKED, error.to_string()).into(),
        IssueError::UserChanged => ApiError::new(kinds::USER_REVOKED, error.to_string()).into(),
        IssueError::Store(_) => ApiFailure::internal("make a token", &error),
    }
}

pub(crate) fn revoke_error(error: RevokeError) -> ApiFailure {
    match error {
        RevokeError::Faults(faults) => partly_revoked_error(&faults),
        RevokeError::Denied(lack) => denied_error(&lack),
        RevokeError::Store(_) => ApiFailure::internal("revoke tokens", &error),
    }
}

/// The error for tokens that were not revoked. All others were revoked, as `other_tokens_revoked`
/// states.
fn partly_revoked_error(faults: &RevokeFaults) -> ApiFailure {
    let kind = match faults.not_permitted.is_empty() {
        true => kinds::INVALID_TOKEN,
        false => kinds::PERMISSION_DENIED,
    };
    let refused = ApiError::new(kind, describe_not_revoked(faults))
        .with("other_tokens_revoked", json!(true))
        .with("unrecognized_tokens_count", json!(faults.unknown_tokens))
        .with("unrecognized_labels", json!(faults.unknown_labels))
        .with("unrecognized_usernames", json!(faults.unknown_usernames))
        .with("unrecognized_ids", json!(faults.unknown_ids))
        .with("not_permitted", json!(faults.not_permitted));
    ApiFailure(refused)
}

/// Lists the items that were not revoked, and the next step. Tokens themselves are counted, never
/// repeated.
fn describe_not_revoked(faults: &RevokeFaults) -> String {
    let quoted = |names: &[String]| {
        let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
        names.join(", ")
    };
    let mut reasons = Vec::new();
    if faults.unknown_tokens > 0 {
        reasons.push(format!(
            "{} of the tokens do not exist",
            faults.unknown_tokens
        ));
    }
    for (names, reason) in [
        (&faults.unknown_labels, "no token of yours has the label"),
        (&faults.unknown_usernames, "there is no user"),
        (&faults.unknown_ids, "no token has the id"),
        (
            &faults.not_permitted,
            "you may not revoke the tokens of other users:",
        ),
    ] {
        if !names.is_empty() {
            reasons.push(format!("{reason} {}", quoted(names)));
        }
    }
    format!(
        "{}; everything else that was named is revoked; `tutti token list` shows your tokens",
        reasons.join("; ")
    )
}

impl From<ManageError> for ApiFailure {
    fn from(error: ManageError) -> Self {
        let text = error.to_string();
        let refused = match &error {
            ManageError::Denied(lack) => return denied_error(lack),
            ManageError::Unknown { id, .. } => {
                ApiError::new(kinds::RBAC_NOT_FOUND, text).with("id", json!(id))
            }
            ManageError::Associated { id, .. } => {
                ApiError::new(kinds::INVALID_ASSOCIATED_ID, text).with("id", json!(id))
            }
            ManageError::Conflict { name, .. } => {
                ApiError::new(kinds::CONFLICT, text).with("conflict", json!(name))
            }
            ManageError::InUse { roles } => {
                ApiError::new(kinds::TASK_TARGET_IN_USE, text).with("roles", json!(roles))
            }
            ManageError::TooManyTaskTargets => ApiError::new(kinds::TOO_MANY_TASK_TARGETS, text),
            ManageError::AdminImmutable => ApiError::new(kinds::ADMIN_IMMUTABLE, text),
            ManageError::DefaultRole => ApiError::new(kinds::DEFAULT_ROLES_IMMUTABLE, text),
            ManageError::RemoteUser | ManageError::CurrentPassword | ManageError::ResetToken => {
                ApiError::new(kinds::PERMISSION_DENIED, text)
            }
            ManageError::LockedOut { wait } => locked_out(text, *wait),
            ManageError::Password(_) => schema("password", &text),
            ManageError::Grant(_) => schema("permissions", &text),
            ManageError::Invalid { place, .. } => schema(place, &text),
            ManageError::Hash(HashError::Busy) => ApiError::new(kinds::UNAVAILABLE, text),
            ManageError::Hash(_) | ManageError::Store(_) => {
                return Self::internal("change users and roles", &error);
            }
        };
        Self(refused)
    }
}

/// The error for an invalid value at `place`.
pub(crate) fn schema(place: &str, text: &str) -> ApiError {
    ApiError::new(kinds::RBAC_SCHEMA, text)
        .with("path", json!(place))
        .with("error", json!(text))
}

fn locked_out(text: String, wait: Duration) -> ApiError {
    let seconds = (wait + Duration::from_millis(999)).as_secs();
    ApiError::new(kinds::LOCKED_OUT, text).with("retry_after_seconds", json!(seconds))
}
