//! `POST deploys`, `GET deploys/status`.

use api_types::{
    ApiError, CodeDeploy, CodeDeployed, CodeDeploysCommand, CodeDeploysStatus, CodeDeploysUnderWay,
    CodeDiskUse, CodeStatusQuery, CodeStorageStatus, ErrorBody, Timestamp, kinds,
};
use axum::Json;
use axum::extract::State;
use code_deployments::CodeManager;
use code_deployments::service::{
    self, Deployment, DeploymentAction, DeploymentRequester, DeploymentSubmitError,
    SubmittedDeployments,
};
use code_sources::defaults::MODS;
use code_store::defaults::NAME_BYTES;
use code_store::write_probe::WriteObstacle;
use environments::EnvironmentName;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::{manager, may_deploy, responses, submit_error, unknown_environment_error};
use crate::SharedApiContext;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::defaults::DEPLOY_WAIT;
use crate::failure::ApiFailure;
use crate::request_parameters::QueryParameters;

pub(crate) async fn deploy(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    StrictBody(command): StrictBody<CodeDeploysCommand>,
) -> Result<Json<Vec<CodeDeploy>>, ApiFailure> {
    let manager = manager(&api)?;
    let mut refused = Vec::new();
    let action = action(&command)?;
    let wanted = match (command.deploy_all, command.environments.as_slice()) {
        (true, []) => {
            may_deploy(&api, &caller, "*")?;
            Box::pin(select_all_environments(manager, action)).await?
        }
        (false, names @ [_, ..]) => {
            parse_named_environments(&api, &caller, names, &action, &mut refused)?
        }
        _ => {
            let what = "either this or deploy-all is given";
            return Err(ApiError::invalid("environments", what).into());
        }
    };
    let by = DeploymentRequester {
        owner: caller.0.login.clone(),
        reason: command.reason,
    };
    let submitted = manager.submit(wanted, by).await.map_err(submit_error)?;
    let mut all: Vec<CodeDeploy> = match command.wait {
        true => {
            let ended = wait_for_all(submitted).await?.into_iter();
            ended.map(|it| responses::deploy(manager, it)).collect()
        }
        false => submitted
            .deployments
            .into_iter()
            .map(responses::queued_reply)
            .collect(),
    };
    all.extend(refused);
    Ok(Json(all))
}

/// The action that the command requests for each environment.
fn action(command: &CodeDeploysCommand) -> Result<DeploymentAction, ApiError> {
    let (mut names, dry_run) = (command.modules.clone(), command.dry_run);
    if names.len() > MODS || names.iter().any(|name| name.len() > NAME_BYTES) {
        let what = format!("these are more than {MODS} modules, or one has a longer name than any");
        return Err(ApiError::invalid("modules", what));
    }
    names.sort();
    names.dedup();
    match (names.is_empty(), command.deploy_modules.unwrap_or(true)) {
        (true, true) => Ok(DeploymentAction::Deploy { dry_run }),
        (true, false) => Ok(DeploymentAction::Control { dry_run }),
        (false, true) => Ok(DeploymentAction::Modules { names, dry_run }),
        (false, false) => {
            let what = "modules are named, and deploy-modules is false";
            Err(ApiError::invalid("modules", what))
        }
    }
}

/// Selects all environments for deployment.
async fn select_all_environments(
    manager: &CodeManager,
    action: DeploymentAction,
) -> Result<Vec<(EnvironmentName, DeploymentAction)>, ApiFailure> {
    let wanted = match &action {
        DeploymentAction::Modules { names, dry_run } => manager.plan_modules(names, *dry_run).await,
        DeploymentAction::Control { dry_run } => {
            manager.plan_all_environments(*dry_run).await.map(|all| {
                let each = all.into_iter().map(|(name, wanted)| match wanted {
                    DeploymentAction::Deploy { .. } => (name, action.clone()),
                    other => (name, other),
                });
                each.collect()
            })
        }
        other => {
            manager
                .plan_all_environments(matches!(other, DeploymentAction::Deploy { dry_run: true }))
                .await
        }
    };
    let wanted: Vec<_> = wanted.map_err(submit_error)?;
    if let (DeploymentAction::Modules { names, .. }, true) = (&action, wanted.is_empty()) {
        let what = format!("no environment that is live has {}", names.join(", "));
        return Err(ApiError::invalid("modules", what).into());
    }
    Ok(wanted)
}

/// Parses the environments that the command names. The error for a branch name contains the name of
/// its environment on this server.
fn parse_named_environments(
    api: &SharedApiContext,
    caller: &ApiCaller,
    names: &[String],
    action: &DeploymentAction,
    refused: &mut Vec<CodeDeploy>,
) -> Result<Vec<(EnvironmentName, DeploymentAction)>, ApiFailure> {
    let mut wanted = Vec::with_capacity(names.len());
    for name in names {
        may_deploy(api, caller, name)?;
        match name.parse() {
            Ok(name) => wanted.push((name, action.clone())),
            Err(error) => {
                let corrected = manager(api)?.environments_of_branch(name, None);
                let mut error = ApiError::invalid("environments", format!("{name:?}: {error}"));
                if let Some(corrected) = corrected.first() {
                    error = error.with("corrected-env-name", json!(corrected.as_str()));
                }
                refused.push(responses::refused_reply(name, *error.body));
            }
        }
    }
    Ok(wanted)
}

/// Waits until the deployments end, in the order in which they were requested.
pub(crate) async fn wait_for_all(
    submitted: SubmittedDeployments,
) -> Result<Vec<Deployment>, ApiFailure> {
    let deadline = Instant::now() + DEPLOY_WAIT;
    let mut all = Vec::with_capacity(submitted.ends.len());
    let mut late = Vec::new();
    for (end, (environment, id)) in submitted.ends.into_iter().zip(submitted.deployments) {
        match timeout_at(deadline, end).await {
            Ok(Ok(deployment)) => all.push(deployment),
            // The server is stopping, or the wait timed out: the deployment continues in both
            // cases.
            Ok(Err(_)) | Err(_) => {
                late.push(json!({"environment": environment.as_str(), "id": id}))
            }
        }
    }
    if late.is_empty() {
        return Ok(all);
    }
    let msg = format!(
        "{} deployments are not over yet; they go on, and deploys/status tells how they end",
        late.len()
    );
    let error = ApiError::new(kinds::DEPLOY_TIMEOUT, msg).with("deploys", Value::from(late));
    Err(error.into())
}

pub(crate) async fn status(
    State(api): State<SharedApiContext>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<Value>, ApiFailure> {
    let manager = manager(&api)?;
    let shown = match CodeStatusQuery::read(given)?.id {
        Some(id) => {
            let found = manager.deployment(id).await?;
            let found = found.ok_or_else(|| unknown_environment_error(id))?;
            json!(responses::status(
                manager,
                found,
                &manager.waiting_deployments()
            ))
        }
        None => json!(CodeDeploysStatus {
            deploys_status: deployments_under_way(manager).await?,
            last_outcomes: manager
                .newest_deployments()
                .await?
                .into_iter()
                .map(Into::into)
                .collect(),
            file_sync_storage_status: CodeStorageStatus {
                deployed: live_deployments(manager.live_deployments().await?, manager.versions()),
            },
            file_sync_client_status: crate::file_sync::clients(manager),
            settings_error: settings_error(manager).await,
            directories_error: directories_error(manager).await,
            disk_use: disk_use(manager),
        }),
    };
    Ok(Json(shown))
}

async fn deployments_under_way(manager: &CodeManager) -> Result<CodeDeploysUnderWay, ApiFailure> {
    let (open, failed) = (
        manager.open_deployments().await?,
        manager.failed_deployments().await?,
    );
    let waiting = manager.waiting_deployments();
    let mut all = CodeDeploysUnderWay::default();
    for deployment in open {
        let list = match deployment.state {
            service::DeploymentState::Queued => &mut all.queued,
            _ => &mut all.deploying,
        };
        list.push(responses::status(manager, deployment, &waiting));
    }
    let failed = failed.into_iter();
    all.failed = failed
        .map(|it| responses::status(manager, it, &waiting))
        .collect();
    Ok(all)
}

async fn settings_error(manager: &CodeManager) -> Option<ErrorBody> {
    let fault = manager.settings_fault().await?;
    let error = ApiError::new(
        kinds::CODE_SETTINGS,
        DeploymentSubmitError::Settings(fault).to_message(),
    );
    Some(*error.body)
}

async fn directories_error(manager: &CodeManager) -> Option<ErrorBody> {
    let obstacles = manager.write_obstacles().await;
    let told: Vec<String> = obstacles.iter().map(ToString::to_string).collect();
    let shown = |it: &WriteObstacle| json!({"path": it.path.display().to_string(), "cause": it.cause, "remedy": it.remedy});
    let shown: Vec<Value> = obstacles.iter().map(shown).collect();
    let error = ApiError::new(kinds::CODE_UNWRITABLE, told.join("\n"));
    (!told.is_empty()).then(|| *error.with("obstacles", Value::from(shown)).body)
}

fn disk_use(manager: &CodeManager) -> Option<CodeDiskUse> {
    let found = manager.disk_use().borrow().clone()?;
    Some(CodeDiskUse {
        date: Timestamp::from_ms(found.counted_ms),
        versions_bytes: found.versions_bytes,
        repositories_bytes: found.repositories_bytes,
    })
}

/// The last deployments in the history whose version is live.
fn live_deployments(
    last: Vec<Deployment>,
    versions: &code_store::version::VersionStore,
) -> Vec<CodeDeployed> {
    let live = |it: &Deployment| {
        let live = versions.live_version(&it.environment.parse().ok()?)?;
        (Some(live.as_str()) == it.signature.as_deref()).then(|| live.to_string())
    };
    let shown = last.into_iter().filter_map(|it| {
        Some(CodeDeployed {
            version: live(&it)?,
            date: Timestamp::from_ms(it.finished_ms?),
            deploy_signature: it.outcome?.control_commit.unwrap_or_default(),
            environment: it.environment,
        })
    });
    shown.collect()
}
