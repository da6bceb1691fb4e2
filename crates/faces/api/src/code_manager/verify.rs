//! `POST code/verify`: compares the whole code store with its hashes, and repairs it on request.
//!
//! Invariant: it reads all content, so even a check without repair needs the permission for all
//! environments.

use api_types::{ApiError, CodeVerified, CodeVerifyCommand, kinds};
use axum::Json;
use axum::extract::State;
use code_deployments::service::{DeploymentRequester, VerifyError};
use code_store::integrity::StoreCheckError;

use super::{may_deploy, submit_error};
use crate::SharedApiContext;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;

pub(crate) async fn verify(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    StrictBody(command): StrictBody<CodeVerifyCommand>,
) -> Result<Json<CodeVerified>, ApiFailure> {
    may_deploy(&api, &caller, "*")?;
    let manager = super::manager(&api)?;
    let by = DeploymentRequester {
        owner: caller.0.login.clone(),
        reason: "verification of the code store".to_owned(),
    };
    let verified = manager.verify(command.repair, by).await;
    Ok(Json(verified.map_err(failure)?.to_code_verified()))
}

fn failure(error: VerifyError) -> ApiFailure {
    match error {
        VerifyError::Submit(error) => submit_error(error),
        VerifyError::Check(error @ StoreCheckError::Interrupted) => {
            ApiError::new(kinds::UNAVAILABLE, error.to_string()).into()
        }
        error @ (VerifyError::Check(StoreCheckError::Content(_)) | VerifyError::Discard(_)) => {
            ApiFailure::internal("verify the code store", &error)
        }
    }
}
