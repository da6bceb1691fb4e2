//! The directory that an imported group is bound to: [`of_import`].
//!
//! The rule: where several directories could be meant, the caller says which one; no group is
//! bound to a directory by chance.

use api_types::ApiError;
use api_types::rbac::GroupImport;

use super::refusal::schema;
use super::{Elsewhere, directories};
use crate::failure::Failure;

/// The key of the API that names a directory.
const PLACE: &str = "identity_provider_id";

/// The origin of a group that is imported; `None`: there is no directory yet. The directories are
/// asked for the group unless `validate` says no. A group may be of the identity provider, which
/// cannot be asked: where there is one, `validate` has to say yes.
pub(super) async fn of_import(
    elsewhere: &Elsewhere,
    asked: &GroupImport,
) -> Result<Option<String>, Failure> {
    let given = asked.identity_provider_id.as_deref();
    let given = given.map(|id| named(elsewhere, id)).transpose()?;
    let directories = elsewhere.directories.origins();
    let can_be_asked = match &given {
        Some(origin) => directories.contains(origin),
        None => !directories.is_empty(),
    };
    let validates = asked.validate.unwrap_or(elsewhere.oidc.is_none());
    let candidates = if validates && can_be_asked {
        let asking = elsewhere
            .directories
            .find_group(&asked.login, given.as_deref());
        let found = Box::pin(asking).await;
        let found = found.map_err(|error| directories::unavailable(&error))?;
        if found.is_empty() {
            return Err(directories::no_such_group(&asked.login).into());
        }
        found
    } else {
        given.map_or_else(|| elsewhere.origins(), |origin| vec![origin])
    };
    let mut candidates = candidates.into_iter();
    match (candidates.next(), candidates.next()) {
        (origin, None) => Ok(origin),
        _ => Err(several().into()),
    }
}

/// The origin of the directory with this id.
pub(super) fn named(elsewhere: &Elsewhere, id: &str) -> Result<String, ApiError> {
    let origin = elsewhere.origin_of(id);
    origin.ok_or_else(|| {
        schema(
            PLACE,
            "no directory has this id, and no provider is this issuer",
        )
    })
}

fn several() -> ApiError {
    schema(
        PLACE,
        "is missing: there are several directories, and the group is bound to one; GET \
         /rbac-api/v2/ds lists them",
    )
}
