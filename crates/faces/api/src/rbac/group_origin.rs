//! The directory of an imported group: [`origin_of_import`].
//!
//! Invariant: if several directories could be meant, the caller must name one; a group is never
//! bound to a directory by chance.

use api_types::ApiError;
use api_types::rbac::GroupImport;

use super::refusal::schema;
use super::{ExternalDirectories, directories};
use crate::failure::ApiFailure;

/// The key of the API that names a directory.
const PLACE: &str = "identity_provider_id";

/// The origin of an imported group; `None` if there is no directory yet. The directories are
/// searched for the group unless `validate` is false. A group may belong to the identity provider,
/// which cannot be searched: with a provider, `validate` must be true.
pub(super) async fn origin_of_import(
    external_directories: &ExternalDirectories,
    asked: &GroupImport,
) -> Result<Option<String>, ApiFailure> {
    let given = asked.identity_provider_id.as_deref();
    let given = given
        .map(|id| origin_of_directory(external_directories, id))
        .transpose()?;
    let directories = external_directories.directories.origins();
    let can_be_asked = match &given {
        Some(origin) => directories.contains(origin),
        None => !directories.is_empty(),
    };
    let validates = asked
        .validate
        .unwrap_or(external_directories.oidc.is_none());
    let candidates = if validates && can_be_asked {
        let asking = external_directories
            .directories
            .find_group(&asked.login, given.as_deref());
        let found = Box::pin(asking).await;
        let found = found.map_err(|error| directories::unavailable(&error))?;
        if found.is_empty() {
            return Err(directories::unknown_group_error(&asked.login).into());
        }
        found
    } else {
        given.map_or_else(|| external_directories.origins(), |origin| vec![origin])
    };
    let mut candidates = candidates.into_iter();
    match (candidates.next(), candidates.next()) {
        (origin, None) => Ok(origin),
        _ => Err(several_directories_error().into()),
    }
}

/// The origin of the directory with this id.
pub(super) fn origin_of_directory(
    external_directories: &ExternalDirectories,
    id: &str,
) -> Result<String, ApiError> {
    let origin = external_directories.origin_of(id);
    origin.ok_or_else(|| {
        schema(
            PLACE,
            "no directory has this id, and no provider is this issuer",
        )
    })
}

fn several_directories_error() -> ApiError {
    schema(
        PLACE,
        "is missing: there are several directories, and the group is bound to one; GET \
         /rbac-api/v2/ds lists them",
    )
}
