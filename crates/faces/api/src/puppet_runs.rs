//! `POST command/deploy`: runs Puppet on nodes.

use api_types::{ApiError, DeployCommand, JobCreated, RunCode, ScopeKind, kinds};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use code_deployments::service::CodeUser;
use jobs::{PuppetFlags, PuppetRunError, PuppetRunRequest};
use rbac::RequestedPermission;
use store::JobNumber;

use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::body::StrictBody;
use crate::code;
use crate::code_manager;
use crate::failure::ApiFailure;
use crate::guard::ApiCaller;
use crate::near_names::with_near_names;
use crate::refusals::{resolve_refusal, scope_refusal, submit_refusal};
use crate::scope::engine_scope;
use crate::task::timeout;

pub(crate) async fn run(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    StrictBody(command): StrictBody<DeployCommand>,
) -> Result<(StatusCode, Json<JobCreated>), ApiFailure> {
    command.check()?;
    let code = command.code;
    let request = request(&api, &caller, command)?;
    let number = create_job(&api, request, code).await?;
    let created = JobCreated {
        job: base.job_url(number),
        not_permitted: Vec::new(),
    };
    Ok((StatusCode::ACCEPTED, Json(created)))
}

/// Creates the job. With `lock`, deployments wait from before the job is stored until it ends.
pub(crate) async fn create_job(
    api: &SharedApiContext,
    mut request: PuppetRunRequest,
    code: Option<RunCode>,
) -> Result<JobNumber, ApiFailure> {
    // If each node runs in its own environment, no environment is locked.
    let code = match request.environment.as_str() {
        "" => RunCode::Latest,
        name => code.unwrap_or_else(|| api.info.run_code.for_environment(name)),
    };
    if code == RunCode::Latest {
        return submit_run(api, request).await;
    }
    let (hold, live) = code_manager::hold_environment(api, &request.environment).await?;
    let code_id = live.code_id;
    request.code = jobs::CatalogCode::Locked { code_id };
    let number = submit_run(api, request).await?;
    code_manager::assign_hold(api, CodeUser::Job(number.get()), hold).await?;
    Ok(number)
}

async fn submit_run(
    api: &SharedApiContext,
    request: PuppetRunRequest,
) -> Result<JobNumber, ApiFailure> {
    match api.jobs.run_puppet(request).await {
        Ok(number) => Ok(number),
        Err(error) => Err(with_near_names(api, puppet_run_error(error)).await),
    }
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
) -> Result<PuppetRunRequest, ApiFailure> {
    let rollout = command.rollout();
    let scope = command
        .scope
        .map_or(Ok(ScopeKind::WholeEnvironment), |scope| scope.into_kind())?;
    Ok(PuppetRunRequest {
        scope: Some(engine_scope(api, caller, scope)?),
        environment: command.environment,
        enforce_environment: command.enforce_environment,
        flags: PuppetFlags {
            noop: command.noop,
            no_noop: command.no_noop,
            debug: command.debug,
            trace: command.trace,
            evaltrace: command.evaltrace,
            use_cached_catalog: command.use_cached_catalog,
            usecacheonfailure: command.usecacheonfailure,
            filetimeout: command.filetimeout,
            http_connect_timeout: command.http_connect_timeout,
            http_keepalive_timeout: command.http_keepalive_timeout,
            http_read_timeout: command.http_read_timeout,
            ordering: command.ordering,
            tags: command.tags,
            skip_tags: command.skip_tags,
        },
        concurrency: command
            .concurrency
            .and_then(|nodes| usize::try_from(nodes).ok()),
        rollout,
        timeout: command.timeout.map(timeout),
        description: command.description,
        userdata: command.userdata,
        owner: caller.0.login.clone(),
        ..PuppetRunRequest::default()
    })
}

fn puppet_run_error(error: PuppetRunError) -> ApiFailure {
    let text = error.to_string();
    let refused = match error {
        PuppetRunError::EnvironmentName { .. } => ApiError::invalid("environment", text),
        PuppetRunError::NothingToEnforce => ApiError::invalid("enforce_environment", text),
        PuppetRunError::Nowhere => ApiError::invalid("scope", text),
        PuppetRunError::Code(error) => return code::code_error(error),
        PuppetRunError::Flag(flag) => ApiError::invalid(flag.option, flag.problem),
        PuppetRunError::Scope(error) => return scope_refusal(&error),
        PuppetRunError::Classify(error) => return resolve_refusal("enforce_environment", &error),
        PuppetRunError::Limit(_) => ApiError::new(kinds::VALIDATION, text),
        PuppetRunError::Submit(error) => return submit_refusal(&error),
        _ => return ApiFailure::internal("run Puppet", &error),
    };
    ApiFailure(refused)
}
