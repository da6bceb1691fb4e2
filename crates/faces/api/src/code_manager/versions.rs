//! The history, the versions on the server, and the commands that need no repository.

use std::collections::HashMap;

use api_types::defaults::{CODE_DEPLOYS, CODE_DEPLOYS_MAX};
use api_types::{
    ApiError, CodeCollected, CodeDeployment, CodeDiff, CodeDiffQuery, CodeFileChange,
    CodeGcCommand, CodeGone, CodeHistory, CodeHistoryQuery, CodePin, CodePinCommand, CodePinned,
    CodePromoteCommand, CodeRollbackCommand, CodeUnpinCommand, CodeVersion, CodeVersions,
    Timestamp, kinds,
};
use axum::Json;
use axum::extract::State;
use code_deployments::CodeManager;
use code_deployments::service::{DeploymentAction, DeploymentRequester};
use code_store::diff::FileChangeKind;
use code_store::version::VersionSignature;
use environments::EnvironmentName;
use serde_json::json;

use super::{environment, manager, may_deploy, submit_error};
use crate::SharedApiContext;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::request_parameters::QueryParameters;

pub(crate) async fn history(
    State(api): State<SharedApiContext>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<CodeHistory>, ApiFailure> {
    let manager = manager(&api)?;
    let query = CodeHistoryQuery::read(given)?;
    let of = query.environment.map(|it| environment("environment", &it));
    let limit = query.limit.unwrap_or(CODE_DEPLOYS).min(CODE_DEPLOYS_MAX);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let all = manager
        .history(of.transpose()?.as_ref(), query.before, limit)
        .await?;
    Ok(Json(CodeHistory {
        items: all.into_iter().map(Into::into).collect(),
    }))
}

pub(crate) async fn list(
    State(api): State<SharedApiContext>,
    QueryParameters(mut given): QueryParameters,
) -> Result<Json<CodeVersions>, ApiFailure> {
    let manager = manager(&api)?;
    let of = given.text("environment");
    given.finish()?;
    let pins = manager.pins().await?.into_iter();
    let mut pins: HashMap<_, _> = pins.map(|pin| (pin.environment.clone(), pin)).collect();
    let stored = manager
        .stored_versions()
        .await
        .map_err(submit_error)?
        .into_iter();
    let fitting = stored.filter(|it| of.as_ref().is_none_or(|of| it.environment.as_str() == of));
    let items = fitting.map(|it| {
        let pin = match it.is_live {
            true => pins.remove(it.environment.as_str()),
            false => None,
        };
        let lock = it.lock.as_ref();
        CodeVersion {
            environment: it.environment.to_string(),
            version: it.signature.to_string(),
            live: it.is_live,
            pinned: pin.map(|pin| CodePin {
                owner: pin.owner,
                reason: pin.reason,
                timestamp: Timestamp::from_ms(pin.pinned_ms),
            }),
            branch: lock.map(|lock| lock.control.branch.clone()),
            control_commit: lock.and_then(|lock| lock.control.resolved_commit().map(str::to_owned)),
            modules: lock.map_or(0, |lock| lock.modules.len()),
        }
    });
    Ok(Json(CodeVersions {
        items: items.collect(),
    }))
}

pub(crate) async fn diff(
    State(api): State<SharedApiContext>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<CodeDiff>, ApiFailure> {
    let manager = manager(&api)?;
    let query = CodeDiffQuery::read(given)?;
    let of = environment("environment", &query.environment)?;
    let other = query
        .to_environment
        .as_deref()
        .unwrap_or(&query.environment);
    let other = environment("to_environment", other)?;
    let from = version(manager, &of, query.from.as_deref()).await?;
    let to = version(manager, &other, query.to.as_deref()).await?;
    let compared = manager.diff((of, from.clone()), (other, to.clone())).await;
    let (changes, files) = compared.map_err(submit_error)?;
    Ok(Json(CodeDiff {
        from: from.to_string(),
        to: to.to_string(),
        changes: changes.into(),
        cut: files.cut,
        files: files
            .files
            .into_iter()
            .map(|file| CodeFileChange {
                path: file.path,
                change: kind(file.kind).to_owned(),
            })
            .collect(),
    }))
}

fn kind(kind: FileChangeKind) -> &'static str {
    match kind {
        FileChangeKind::Added => "added",
        FileChangeKind::Removed => "removed",
        FileChangeKind::Changed => "changed",
    }
}

pub(crate) async fn rollback(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    StrictBody(command): StrictBody<CodeRollbackCommand>,
) -> Result<Json<CodeDeployment>, ApiFailure> {
    may_deploy(&api, &caller, &command.environment)?;
    let manager = manager(&api)?;
    let of = environment("environment", &command.environment)?;
    let signature = match &command.version {
        Some(digits) => version(manager, &of, Some(digits)).await?,
        None => previous_version(manager, &of).await?,
    };
    let action = DeploymentAction::Rollback { signature };
    run_and_wait(manager, of, action, &caller, command.reason).await
}

pub(crate) async fn promote(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    StrictBody(command): StrictBody<CodePromoteCommand>,
) -> Result<Json<CodeDeployment>, ApiFailure> {
    may_deploy(&api, &caller, &command.to)?;
    let manager = manager(&api)?;
    let from = environment("from", &command.from)?;
    let to = environment("to", &command.to)?;
    let signature = version(manager, &from, command.version.as_deref()).await?;
    let action = DeploymentAction::Promote { from, signature };
    run_and_wait(manager, to, action, &caller, command.reason).await
}

/// Runs a command that needs no repository, waits for it, and returns the result.
async fn run_and_wait(
    manager: &CodeManager,
    of: EnvironmentName,
    action: DeploymentAction,
    caller: &ApiCaller,
    reason: String,
) -> Result<Json<CodeDeployment>, ApiFailure> {
    let by = DeploymentRequester {
        owner: caller.0.login.clone(),
        reason,
    };
    let wanted = vec![(of.clone(), action)];
    let submitted = manager.submit(wanted, by).await.map_err(submit_error)?;
    let mut ends = submitted.ends.into_iter();
    let end = match ends.next() {
        Some(end) => end.await.ok(),
        None => None,
    };
    let Some(deployment) = end else {
        let msg = "the server is stopping; it does this after its next start";
        return Err(ApiError::new(kinds::UNAVAILABLE, msg).into());
    };
    let shown: CodeDeployment = deployment.into();
    let Some(error) = shown.error else {
        return Ok(Json(shown));
    };
    let kind = match error.kind.as_str() {
        code_deployments::service::error_kinds::PINNED => kinds::PINNED,
        code_deployments::service::error_kinds::HELD => kinds::HELD,
        _ => kinds::DEPLOY_FAILURE,
    };
    let refused = ApiError::new(kind, error.msg);
    let refused = refused.with("environment", json!(of.as_str()));
    Err(refused.with("id", json!(shown.id)).into())
}

/// The version whose id starts with the given digits; the live one by default.
async fn version(
    manager: &CodeManager,
    of: &EnvironmentName,
    digits: Option<&str>,
) -> Result<VersionSignature, ApiFailure> {
    match digits {
        Some(digits) => manager.find_version(of, digits).await.map_err(submit_error),
        None => manager.versions().live_version(of).ok_or_else(|| {
            let msg = format!("no version of {of} is live");
            ApiError::new(kinds::UNKNOWN_VERSION, msg).into()
        }),
    }
}

/// The version that was live before this one.
async fn previous_version(
    manager: &CodeManager,
    of: &EnvironmentName,
) -> Result<VersionSignature, ApiFailure> {
    let live = manager.versions().live_version(of);
    let live = live.as_ref().map(VersionSignature::as_str);
    let limit = i64::try_from(CODE_DEPLOYS_MAX).unwrap_or(i64::MAX);
    let history = manager.history(Some(of), None, limit).await?;
    let made_live = history
        .iter()
        .find(|it| !it.dry_run && it.signature.as_deref() == live && it.before.as_deref() != live);
    let before = made_live.and_then(|it| it.before.as_deref()?.parse().ok());
    before.ok_or_else(|| {
        let msg = format!(
            "nothing is known to have been live in {of} before; name a version of those that are here"
        );
        ApiError::new(kinds::UNKNOWN_VERSION, msg).into()
    })
}

pub(crate) async fn pin(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    StrictBody(command): StrictBody<CodePinCommand>,
) -> Result<Json<CodePinned>, ApiFailure> {
    may_deploy(&api, &caller, &command.environment)?;
    let manager = manager(&api)?;
    let of = environment("environment", &command.environment)?;
    let by = DeploymentRequester {
        owner: caller.0.login.clone(),
        reason: command.reason,
    };
    let pin = manager.pin(&of, by).await.map_err(submit_error)?;
    Ok(Json(CodePinned {
        environment: pin.environment,
        version: Some(pin.signature),
    }))
}

pub(crate) async fn unpin(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    StrictBody(command): StrictBody<CodeUnpinCommand>,
) -> Result<Json<CodePinned>, ApiFailure> {
    may_deploy(&api, &caller, &command.environment)?;
    let manager = manager(&api)?;
    let of = environment("environment", &command.environment)?;
    // No error if the version was not pinned before.
    manager.unpin(&of).await?;
    Ok(Json(CodePinned {
        environment: command.environment,
        version: None,
    }))
}

pub(crate) async fn collect(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    StrictBody(command): StrictBody<CodeGcCommand>,
) -> Result<Json<CodeCollected>, ApiFailure> {
    may_deploy(&api, &caller, "*")?;
    let manager = manager(&api)?;
    let collected = manager
        .collect(command.dry_run)
        .await
        .map_err(submit_error)?;
    let gone = collected
        .versions
        .into_iter()
        .map(|(environment, version)| CodeGone {
            environment: environment.to_string(),
            version: version.to_string(),
        });
    Ok(Json(CodeCollected {
        versions: gone.collect(),
        objects: collected.objects,
        bytes: collected.bytes,
        left_bytes: collected.left_bytes,
        notes: collected.notes,
        repositories: collected.repositories,
        repositories_bytes: collected.repositories_bytes.unwrap_or_default(),
    }))
}
