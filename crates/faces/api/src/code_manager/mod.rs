//! Code Manager: `/code-manager/v1` as in Puppet Enterprise, and `/tutti/v1/code`.
//!
//! Invariants: each changed environment needs the permission to deploy code to it by name; and a
//! failure is reported in the list of deployments, since others may have succeeded.

mod deploys;
mod responses;
mod service;
mod verify;
mod versions;
mod webhook;
mod webhook_queue;

use api_types::{ApiError, EnvironmentCode, kinds};
use code_deployments::CodeManager;
use code_deployments::service::{CodeUser, DeploymentSubmitError, EnvironmentHold};
use code_store::version::VersionSignature;
use environments::EnvironmentName;
use rbac::RequestedPermission;
use serde_json::json;

use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::code;
use crate::failure::ApiFailure;

pub(crate) use deploys::{deploy, status, wait_for_all};
pub use service::{CodeDeploymentParts, CodeService};
pub(crate) use verify::verify;
pub(crate) use versions::{collect, diff, history, list, pin, promote, rollback, unpin};
pub(crate) use webhook::{webhook, webhook_module, webhook_r10k};
pub(crate) use webhook_queue::{webhook_health, webhook_queue};

/// The service; an error if the server deploys no code.
fn service(api: &SharedApiContext) -> Result<&CodeService, ApiFailure> {
    api.code_manager.as_ref().ok_or_else(|| {
        let msg = "this server deploys no code; set code.r10k_config in its configuration";
        ApiError::new(kinds::NO_CODE_MANAGER, msg).into()
    })
}

/// The deployer; an error if the server deploys no code.
pub(crate) fn manager(api: &SharedApiContext) -> Result<&CodeManager, ApiFailure> {
    service(api)?.manager()
}

/// Holds an environment for a plan or a job, so that no deployment switches it. Also returns the
/// live code, which may have changed while the hold was awaited.
pub(crate) async fn hold_environment(
    api: &SharedApiContext,
    name: &str,
) -> Result<(EnvironmentHold, EnvironmentCode), ApiFailure> {
    let manager = manager(api)?;
    let name = environment("environment", name)?;
    let hold = manager.hold(&name).await.map_err(|blockers| {
        let msg = format!(
            "{name} is being deployed, or a deployment of it waits, and this would wait behind it ({blockers}); \
             try again later, or without --code lock"
        );
        ApiError::new(kinds::HELD, msg)
            .with("plans", json!(blockers.plans))
            .with("jobs", json!(blockers.jobs))
            .with("deployments", json!(blockers.deployments))
    })?;
    let (live, ()) = code::read(api, name.as_str(), |_| Ok(())).await?;
    Ok((hold, live))
}

/// The only version of an environment whose signature begins with these digits.
pub(crate) async fn find_version(
    api: &SharedApiContext,
    environment: &EnvironmentName,
    digits: &str,
) -> Result<VersionSignature, ApiFailure> {
    let found = manager(api)?.find_version(environment, digits).await;
    found.map_err(submit_error)
}

/// Assigns the hold to `worker`, a plan or a job; it is released when the worker ends.
pub(crate) async fn assign_hold(
    api: &SharedApiContext,
    worker: CodeUser,
    hold: EnvironmentHold,
) -> Result<(), ApiFailure> {
    manager(api)?.assign_hold(worker, hold).await;
    Ok(())
}

/// Parses the name of an environment at `place` of a request.
pub(crate) fn environment(place: &str, text: &str) -> Result<EnvironmentName, ApiError> {
    text.parse()
        .map_err(|error| ApiError::invalid(place, error))
}

/// Checks the permission to deploy this environment; `*`: all of them.
pub(crate) fn may_deploy(
    api: &SharedApiContext,
    caller: &ApiCaller,
    environment: &str,
) -> Result<(), ApiFailure> {
    let permission = RequestedPermission::on("environment", "deploy_code", environment);
    Ok(api.access.authorize(&caller.0, permission)?)
}

/// The error for a deployment that was not queued.
pub(crate) fn submit_error(error: DeploymentSubmitError) -> ApiFailure {
    let said = error.to_message();
    match error {
        DeploymentSubmitError::Settings(_) => ApiError::new(kinds::CODE_SETTINGS, said).into(),
        DeploymentSubmitError::Sources(_) => ApiError::new(kinds::CODE_SOURCE, said).into(),
        DeploymentSubmitError::Full | DeploymentSubmitError::Stopping => {
            ApiError::new(kinds::UNAVAILABLE, said).into()
        }
        DeploymentSubmitError::NoVersion(_) => ApiError::new(kinds::UNKNOWN_VERSION, said).into(),
        error @ (DeploymentSubmitError::InUse(_)
        | DeploymentSubmitError::Content(_)
        | DeploymentSubmitError::Store(_)) => ApiFailure::internal("deploy code", &error),
    }
}

/// The error for an unknown deployment.
fn unknown_environment_error(id: i64) -> ApiError {
    let msg = format!("there is no deployment {id}");
    ApiError::new(kinds::UNKNOWN_DEPLOY, msg).with("id", json!(id))
}
