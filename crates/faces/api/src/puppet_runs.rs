//! `POST command/deploy`: runs Puppet on nodes.

use api_types::{ApiError, DeployCommand, JobCreated, RunCode, ScopeKind, kinds};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use code_deployments::service::CodeUser;
use jobs::{PuppetFlags, PuppetRunError, PuppetRunRequest};
use rbac::RequestedPermission;
use store::JobNumber;

use crate::Shared;
use crate::base::BaseUrl;
use crate::body::StrictBody;
use crate::code;
use crate::code_manager;
use crate::failure::Failure;
use crate::guard::Caller;
use crate::near_names::with_near_names;
use crate::refusals::{resolve_refusal, scope_refusal, submit_refusal};
use crate::scope::engine_scope;
use crate::task::timeout;

pub(crate) async fn run(
    State(api): State<Shared>,
    base: BaseUrl,
    caller: Caller,
    StrictBody(command): StrictBody<DeployCommand>,
) -> Result<(StatusCode, Json<JobCreated>), Failure> {
    command.check()?;
    let code = command.code;
    let request = request(&api, &caller, command)?;
    let number = started(&api, request, code).await?;
    let created = JobCreated {
        job: base.job(number),
        not_permitted: Vec::new(),
    };
    Ok((StatusCode::ACCEPTED, Json(created)))
}

/// Creates the job. With `lock`, deployments wait from before the job is stored until it ends.
pub(crate) async fn started(
    api: &Shared,
    mut request: PuppetRunRequest,
    code: Option<RunCode>,
) -> Result<JobNumber, Failure> {
    // Nodes that each run in their own environment lock none.
    let code = match request.environment.as_str() {
        "" => RunCode::Latest,
        name => code.unwrap_or_else(|| api.info.run_code.of(name)),
    };
    if code == RunCode::Latest {
        return deployed(api, request).await;
    }
    let (hold, live) = code_manager::hold(api, &request.environment).await?;
    let code_id = live.code_id;
    request.code = jobs::CatalogCode::Locked { code_id };
    let number = deployed(api, request).await?;
    code_manager::keep(api, CodeUser::Job(number.get()), hold).await?;
    Ok(number)
}

async fn deployed(api: &Shared, request: PuppetRunRequest) -> Result<JobNumber, Failure> {
    match api.jobs.run_puppet(request).await {
        Ok(number) => Ok(number),
        Err(error) => Err(with_near_names(api, refusal(error)).await),
    }
}

/// Checks the permission that the route of the command requires.
pub(crate) fn may_run(api: &Shared, caller: &Caller) -> Result<(), Failure> {
    let permission = RequestedPermission::any("puppet_agent", "run");
    Ok(api.access.authorize(&caller.0, permission)?)
}

pub(crate) fn request(
    api: &Shared,
    caller: &Caller,
    command: DeployCommand,
) -> Result<PuppetRunRequest, Failure> {
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

fn refusal(error: PuppetRunError) -> Failure {
    let text = error.to_string();
    let refused = match error {
        PuppetRunError::EnvironmentName { .. } => ApiError::invalid("environment", text),
        PuppetRunError::NothingToEnforce => ApiError::invalid("enforce_environment", text),
        PuppetRunError::Nowhere => ApiError::invalid("scope", text),
        PuppetRunError::Code(error) => return code::refusal(error),
        PuppetRunError::Flag(flag) => ApiError::invalid(flag.option, flag.problem),
        PuppetRunError::Scope(error) => return scope_refusal(&error),
        PuppetRunError::Classify(error) => return resolve_refusal("enforce_environment", &error),
        PuppetRunError::Limit(_) => ApiError::new(kinds::VALIDATION, text),
        PuppetRunError::Submit(error) => return submit_refusal(&error),
        _ => return Failure::internal("run Puppet", &error),
    };
    Failure(refused)
}
