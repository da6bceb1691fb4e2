//! File sync, `/file-sync/v1`: other tools publish code, other servers follow.
//!
//! Invariants: followers are identified by their verified client certificate, whose name must be on
//! the list; and every name in a request is parsed before it is looked up.

mod admission;
mod contents;
mod publish;
mod responses;

use api_types::{
    ApiError, CheckInCommand, CheckedIn, CodeClientStatus, FileSyncCommitsReply, FileSyncVersions,
    ForceSyncCommand, file_sync::REPOSITORY, kinds,
};
use axum::extract::State;
use axum::{Extension, Json};
use file_sync::{CheckInError, FileSync};
use https::PeerCertificate;

use crate::SharedApiContext;
use crate::body::StrictBody;
use crate::failure::ApiFailure;

pub(crate) use admission::admit_follower;
pub(crate) use contents::{blob, manifest};
pub(crate) use publish::publish;
pub(crate) use responses::{clients, services};

/// The file sync service; an error if the server deploys no code.
fn require_file_sync(api: &SharedApiContext) -> Result<&FileSync, ApiFailure> {
    let sync = crate::code_manager::manager(api)?.file_sync();
    sync.ok_or_else(|| {
        let msg = "no server can follow this one";
        ApiError::new(kinds::NO_CODE_MANAGER, msg).into()
    })
}

pub(crate) async fn latest(
    State(api): State<SharedApiContext>,
) -> Result<Json<FileSyncCommitsReply>, ApiFailure> {
    let latest = require_file_sync(&api)?.latest_repository();
    Ok(Json([(REPOSITORY.to_owned(), latest)].into()))
}

/// Returns the versions, which a follower keeps if it has them already.
pub(crate) async fn versions(
    State(api): State<SharedApiContext>,
) -> Result<Json<FileSyncVersions>, ApiFailure> {
    let versions = require_file_sync(&api)?
        .published_versions()
        .await
        .map_err(check_in_error)?;
    let mut kept = FileSyncVersions::default();
    for (environment, signature) in versions {
        let of = kept
            .environments
            .entry(environment.to_string())
            .or_default();
        of.push(signature.to_string());
    }
    Ok(Json(kept))
}

pub(crate) async fn check_in(
    State(api): State<SharedApiContext>,
    Extension(peer): Extension<PeerCertificate>,
    StrictBody(command): StrictBody<CheckInCommand>,
) -> Result<Json<CheckedIn>, ApiFailure> {
    let sync = require_file_sync(&api)?;
    let name = peer.certname().unwrap_or_default();
    let stopping = api.info.stopping.clone();
    tokio::select! {
        told = sync.check_in(name, command) => Ok(Json(told.map_err(check_in_error)?)),
        () = stopping.cancelled() => {
            Err(ApiError::new(kinds::UNAVAILABLE, "the server is stopping").into())
        }
    }
}

pub(crate) async fn force(
    State(api): State<SharedApiContext>,
    StrictBody(ForceSyncCommand {}): StrictBody<ForceSyncCommand>,
) -> Result<Json<CodeClientStatus>, ApiFailure> {
    require_file_sync(&api)?.force_resync().await;
    Ok(Json(clients(crate::code_manager::manager(&api)?)))
}

fn check_in_error(error: CheckInError) -> ApiFailure {
    match &error {
        CheckInError::Invalid(place, what) => ApiError::invalid(place, what).into(),
        CheckInError::Full => ApiError::new(kinds::UNAVAILABLE, error.to_string()).into(),
        _ => ApiFailure::internal("serve a follower", &error),
    }
}
