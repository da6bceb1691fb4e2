//! `POST command/deploy`: runs Puppet on nodes.

use api_types::{ApiError, DeployCommand, JobCreated, RunCode, ScopeKind};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use code_deployments::service::{CodeUser, EnvironmentHold};
use code_store::versioned_code::VersionCodeId;
use environments::EnvironmentName;
use jobs::{CatalogCode, JobLimits, JobSpec, JobWork, PuppetWork};
use pxp::action::CodeId;
use rbac::RequestedPermission;
use store::JobNumber;

use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::code_manager;
use crate::failure::ApiFailure;
use crate::job_specs::{self, caller_job, invalid_environment_name};
use crate::scope::engine_scope;

pub(crate) async fn run(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    StrictBody(command): StrictBody<DeployCommand>,
) -> Result<(StatusCode, Json<JobCreated>), ApiFailure> {
    command.check()?;
    let code = RequestedCode::of(&command);
    let spec = request(&api, &caller, command)?;
    let number = create_job(&api, spec, code).await?;
    let created = JobCreated {
        job: base.job_url(number),
        not_permitted: Vec::new(),
    };
    Ok((StatusCode::ACCEPTED, Json(created)))
}

/// The code that a command wants its nodes to get.
pub(crate) struct RequestedCode {
    mode: Option<RunCode>,
    /// Code id of a version, or the first digits of the version.
    code_id: Option<String>,
}

impl RequestedCode {
    pub(crate) fn of(command: &DeployCommand) -> Self {
        Self {
            mode: command.code,
            code_id: command.code_id.clone(),
        }
    }
}

/// Creates the job. With `lock`, deployments wait from before the job is stored until it ends.
pub(crate) async fn create_job(
    api: &SharedApiContext,
    mut spec: JobSpec,
    code: RequestedCode,
) -> Result<JobNumber, ApiFailure> {
    let hold = choose_code(api, &mut spec, code).await?;
    let number = job_specs::create_job(api, spec).await?;
    if let Some(hold) = hold {
        code_manager::assign_hold(api, CodeUser::Job(number.get()), hold).await?;
    }
    Ok(number)
}

/// Sets the version that the job names. With `lock`, keeps the environment's live version in place for it.
pub(crate) async fn choose_code(
    api: &SharedApiContext,
    spec: &mut JobSpec,
    code: RequestedCode,
) -> Result<Option<EnvironmentHold>, ApiFailure> {
    let JobWork::Puppet(run) = &mut spec.work else {
        return Ok(None);
    };
    // If each node runs in its own environment, no environment is locked.
    let Some(environment) = &run.environment else {
        return Ok(None);
    };
    let name = environment.name.as_str();
    if let Some(version) = &code.code_id {
        let code_id = find_code_id(api, &environment.name, version).await?;
        run.code = CatalogCode::Pinned { code_id };
        return Ok(None);
    }
    if code
        .mode
        .unwrap_or_else(|| api.info.run_code.for_environment(name))
        == RunCode::Latest
    {
        return Ok(None);
    }
    let (hold, live) = code_manager::hold_environment(api, name).await?;
    let code_id = live.code_id;
    run.code = CatalogCode::Locked { code_id };
    Ok(Some(hold))
}

/// The code id of a version, which may be given by its first digits.
async fn find_code_id(
    api: &SharedApiContext,
    environment: &EnvironmentName,
    version: &str,
) -> Result<CodeId, ApiFailure> {
    let code_id = match version.contains(':') {
        true => version.to_owned(),
        false => VersionCodeId {
            environment: environment.clone(),
            signature: code_manager::find_version(api, environment, version).await?,
        }
        .to_string(),
    };
    let invalid = |error| ApiError::invalid("code_id", error).into();
    code_id.parse().map_err(invalid)
}

/// Checks the permission that the route of the command requires.
pub(crate) fn may_run(api: &SharedApiContext, caller: &ApiCaller) -> Result<(), ApiFailure> {
    let permission = RequestedPermission::any("puppet_agent", "run");
    Ok(api.access.authorize(&caller.0, permission)?)
}

pub(crate) fn request(
    api: &SharedApiContext,
    caller: &ApiCaller,
    command: DeployCommand,
) -> Result<JobSpec, ApiFailure> {
    let limits = JobLimits::from_command(command.concurrency, command.timeout, command.rollout());
    let run = puppet_work(&command)?;
    let scope = command
        .scope
        .map_or(Ok(ScopeKind::WholeEnvironment), |scope| scope.into_kind())?;
    let scope = engine_scope(api, caller, scope)?;
    Ok(JobSpec {
        description: command.description,
        userdata: command.userdata,
        ..caller_job(caller, JobWork::Puppet(run), scope, limits)
    })
}

/// The runs that a command requests.
pub(crate) fn puppet_work(command: &DeployCommand) -> Result<PuppetWork, ApiError> {
    PuppetWork::from_command(command)
        .map_err(|error| invalid_environment_name(&command.environment, &error))
}
