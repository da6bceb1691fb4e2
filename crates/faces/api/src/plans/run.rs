//! `POST command/plan_run` and `environment_plan_run`.
//!
//! Invariant: mistakes that can be found before the evaluation are refused here, all mistakes of
//! the parameters at once; any other mistake becomes the result of the plan job.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ::plans::{PlanError, PlanLaunch, PlanPreviewMode};
use api_types::{
    ApiError, EnvironmentCode, EnvironmentPlanRunCommand, Object, PlanCode, PlanName, PlanNoop,
    PlanParam, PlanParamKind, PlanRunCommand, ScopeKind, kinds,
};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use code_deployments::service::{CodeUser, EnvironmentHold};
use environments::PlanMetadata;
use rbac::RequestedPermission;
use serde_json::{Value, json};
use store::{SlotKey, StoreError};

use super::commands::plan_name_reply;
use super::{params, plan_name, running};
use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::code;
use crate::code_manager;
use crate::failure::ApiFailure;
use crate::refusals::scope_refusal;
use crate::scope::engine_scope;

/// Name of the mode in which a plan blocks deployments of its environment.
pub(super) const LOCK: &str = "lock";

/// The number of a started plan job, and its address.
pub(crate) type PlanStarted = (StatusCode, [(HeaderName, String); 1], Json<PlanName>);

/// The reply to a command that starts a plan.
pub(crate) type PlanStartedReply = Result<PlanStarted, ApiFailure>;

pub(crate) async fn run(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    StrictBody(command): StrictBody<PlanRunCommand>,
) -> PlanStartedReply {
    command.check()?;
    let wanted =
        find_permitted_plan(&api, &caller, &command.plan_name, &command.environment).await?;
    let options = PlanRunOptions {
        params: command.params,
        description: command.description,
        userdata: command.userdata,
        timeout: command.timeout,
        noop: command.noop,
        code: command.code,
        unattended: command.unattended,
    };
    let request = PlanRequest::new(&api, &caller, wanted, options)?;
    start_and_name(&api, &base, request).await
}

pub(crate) async fn environment_run(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    StrictBody(command): StrictBody<EnvironmentPlanRunCommand>,
) -> PlanStartedReply {
    let request = prepare_plan(&api, &caller, command).await?;
    start_and_name(&api, &base, request).await
}

/// Validates a request; the plan may then be started.
pub(crate) async fn prepare_plan(
    api: &SharedApiContext,
    caller: &ApiCaller,
    command: EnvironmentPlanRunCommand,
) -> Result<PlanRequest, ApiFailure> {
    command.check()?;
    let wanted = find_permitted_plan(api, caller, &command.plan_name, &command.environment).await?;
    let params = values(api, caller, command.params, &wanted.environment.name).await?;
    let options = PlanRunOptions {
        params,
        description: command.description,
        userdata: command.userdata,
        timeout: command.timeout,
        noop: command.noop,
        code: command.code,
        unattended: command.unattended,
    };
    Ok(PlanRequest::new(api, caller, wanted, options)?)
}

/// The options of one run of a plan.
struct PlanRunOptions {
    params: Object,
    description: String,
    userdata: Object,
    timeout: Option<u64>,
    noop: PlanNoop,
    code: Option<PlanCode>,
    unattended: Option<bool>,
}

/// A validated request to run a plan.
pub(crate) struct PlanRequest {
    launch: PlanLaunch,
    code: PlanCode,
}

impl PlanRequest {
    fn new(
        api: &SharedApiContext,
        caller: &ApiCaller,
        wanted: PermittedPlan,
        options: PlanRunOptions,
    ) -> Result<Self, ApiError> {
        let default = api.info.plan_code.for_environment(&wanted.environment.name);
        let code = options.code.unwrap_or(default);
        let unattended = options.unattended;
        let mut launch = build_launch(caller, wanted, options, code)?;
        launch.is_unattended = unattended.unwrap_or(api.info.plans_are_unattended);
        launch.node_groups = visible_groups(api, caller);
        Ok(Self { launch, code })
    }

    /// Names of the given parameters that are sensitive.
    pub(crate) fn sensitive(&self) -> &[String] {
        &self.launch.sensitive
    }

    /// Marks more parameters as sensitive, whatever the plan declares.
    pub(crate) fn add_sensitive(&mut self, names: &[String]) {
        let known = &mut self.launch.sensitive;
        for name in names {
            if !known.contains(name) {
                known.push(name.clone());
            }
        }
    }

    /// Sets the slot of the schedule that starts the plan.
    pub(crate) fn set_slot(&mut self, slot: SlotKey) {
        self.launch.slot = Some(slot);
    }
}

/// Starts a plan; returns the number of its plan job.
pub(crate) async fn start(api: &SharedApiContext, request: PlanRequest) -> Result<i64, ApiFailure> {
    let PlanRequest { mut launch, code } = request;
    let hold = match code {
        PlanCode::Lock => {
            let (hold, live) = code_manager::hold_environment(api, &launch.environment).await?;
            launch.environment = live.name;
            launch.code_id = live.code_id;
            Some(hold)
        }
        PlanCode::Pinned | PlanCode::Latest => None,
    };
    start_launch(api, &launch, hold).await
}

/// Starts a plan, which keeps the environment's live version in place if there is a hold.
pub(crate) async fn start_launch(
    api: &SharedApiContext,
    launch: &PlanLaunch,
    hold: Option<EnvironmentHold>,
) -> Result<i64, ApiFailure> {
    let number = api.plans.run(launch).await.map_err(plan_start_error)?;
    if let Some(hold) = hold {
        code_manager::assign_hold(api, CodeUser::Plan(number), hold).await?;
    }
    Ok(number)
}

async fn start_and_name(
    api: &SharedApiContext,
    base: &BaseUrl,
    request: PlanRequest,
) -> PlanStartedReply {
    let number = start(api, request).await?;
    Ok(started_reply(base, number))
}

/// The reply with the number of a started plan job.
pub(crate) fn started_reply(base: &BaseUrl, number: i64) -> PlanStarted {
    let place = base.orchestrator_url(&format!("plan_jobs/{number}"));
    let (status, name) = plan_name_reply(number);
    (status, [(header::LOCATION, place)], name)
}

/// An existing plan that the caller may run.
struct PermittedPlan {
    name: environments::PlanName,
    environment: EnvironmentCode,
    metadata: PlanMetadata,
    parameter_types: params::ParameterTypes,
    replaced_functions: BTreeMap<String, String>,
}

/// Finds the plan. To a caller who may not run it, an unknown plan looks the same as a known one.
async fn find_permitted_plan(
    api: &SharedApiContext,
    caller: &ApiCaller,
    name: &str,
    environment: &str,
) -> Result<PermittedPlan, ApiFailure> {
    let name = plan_name("plan_name", name)?;
    super::demand(api, caller, name.as_str(), environment)?;
    let asked = name.clone();
    let (environment, (plan, parameter_types, replaced)) =
        code::read(api, environment, move |code| {
            let plan = code.plan(&asked)?;
            let types = params::types(&plan.metadata, code);
            Ok((plan, types, environments::replaced_functions(code)?))
        })
        .await?;
    let replaced_functions = replaced
        .into_iter()
        .map(|function| (function.name.clone(), function.to_string()))
        .collect();
    if plan.metadata.private {
        let what = format!("the plan `{name}` is private: only other plans run it");
        return Err(ApiError::invalid("plan_name", what).into());
    }
    Ok(PermittedPlan {
        name,
        environment,
        metadata: plan.metadata,
        parameter_types,
        replaced_functions,
    })
}

fn build_launch(
    caller: &ApiCaller,
    wanted: PermittedPlan,
    options: PlanRunOptions,
    code: PlanCode,
) -> Result<PlanLaunch, ApiError> {
    let PermittedPlan {
        name,
        environment,
        metadata,
        parameter_types,
        replaced_functions,
    } = wanted;
    let sensitive = params::check(&name, &metadata, &parameter_types, &options.params)?;
    let timeout = options.timeout.filter(|seconds| *seconds > 0);
    Ok(PlanLaunch {
        plan: name.to_string(),
        environment: environment.name,
        code_id: match code {
            PlanCode::Pinned | PlanCode::Lock => environment.code_id,
            PlanCode::Latest => None,
        },
        code: Some(code_mode_name(code).to_owned()),
        params: options.params,
        sensitive,
        description: options.description,
        userdata: options.userdata,
        timeout: timeout.map(Duration::from_secs),
        preview: match options.noop {
            PlanNoop::Off => None,
            PlanNoop::Show => Some(PlanPreviewMode::Show),
            PlanNoop::Run => Some(PlanPreviewMode::RunNoop),
        },
        owner: caller.0.login.clone(),
        owner_id: caller.0.user_id.clone(),
        replaced_functions,
        ..PlanLaunch::default()
    })
}

/// The names of the node groups that the caller may view.
fn visible_groups(api: &SharedApiContext, caller: &ApiCaller) -> BTreeSet<String> {
    let groups = api.classifier.groups();
    let visible = groups.iter().filter(|group| {
        let id = group.id.to_string();
        let permission = RequestedPermission::on("node_groups", "view", &id);
        api.access.authorize(&caller.0, permission).is_ok()
    });
    visible.map(|group| group.name.clone()).collect()
}

/// The name of the code mode, as shown with the plan job.
fn code_mode_name(code: PlanCode) -> &'static str {
    match code {
        PlanCode::Pinned => "pinned",
        PlanCode::Lock => LOCK,
        PlanCode::Latest => "latest",
    }
}

/// Parameters for the plan: targets are resolved to certnames.
async fn values(
    api: &SharedApiContext,
    caller: &ApiCaller,
    params: BTreeMap<String, PlanParam>,
    environment: &str,
) -> Result<Object, ApiFailure> {
    let mut values = Object::new();
    for (name, PlanParam { value, kind }) in params {
        let scope = match (kind, value) {
            (None, value) => {
                values.insert(name, value);
                continue;
            }
            (Some(PlanParamKind::Query), query) => ScopeKind::Query(query),
            (Some(PlanParamKind::NodeGroup), Value::String(group)) => ScopeKind::NodeGroup(group),
            // `check` has refused other values already.
            (Some(PlanParamKind::NodeGroup), other) => ScopeKind::NodeGroup(other.to_string()),
        };
        let scope = engine_scope(api, caller, scope)
            .map_err(|refused| with_parameter_name(&name, refused))?;
        let nodes = api
            .jobs
            .resolve_targets(&scope, environment, &caller.0.user_id)
            .await;
        let nodes = nodes.map_err(|error| with_parameter_name(&name, scope_refusal(error)))?;
        let nodes = nodes.iter().map(|node| json!(node.as_str()));
        values.insert(name, nodes.collect());
    }
    Ok(values)
}

/// Adds the name of the parameter to an error.
fn with_parameter_name(name: &str, ApiFailure(mut refused): ApiFailure) -> ApiFailure {
    let place = format!("params.{name}");
    refused.body.msg = format!("{place}: {}", refused.body.msg);
    ApiFailure(refused.with("path", json!(place)))
}

fn plan_start_error(error: PlanError) -> ApiFailure {
    match &error {
        PlanError::Store(StoreError::OutcomeUnknown(_)) => {
            let msg = "the database was lost while the plan was being written down, so it is unknown whether \
                       it was; look into the list of plan jobs when it is back";
            ApiError::new(kinds::OUTCOME_UNKNOWN, msg)
                .with("never_starts", json!(false))
                .into()
        }
        _ => running::plan_command_error(error),
    }
}
