//! `POST commit` and `POST publish`: publish environments that another tool wrote into the staging
//! directory.

use std::collections::BTreeMap;

use api_types::{
    ApiError, FileSyncCommitCommand, FileSyncCommitsReply, FileSyncRepository,
    file_sync::REPOSITORY, kinds,
};
use axum::Json;
use axum::extract::State;
use code_deployments::service::{Deployment, DeploymentAction, DeploymentRequester};
use serde_json::{Value, json};

use super::require_file_sync;
use crate::SharedApiContext;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::code_manager::{environment, manager, may_deploy, submit_error, wait_for_all};
use crate::failure::ApiFailure;

pub(crate) async fn publish(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    StrictBody(command): StrictBody<FileSyncCommitCommand>,
) -> Result<Json<FileSyncCommitsReply>, ApiFailure> {
    let named = command.environment();
    let named = named.map_err(|(place, what)| ApiError::invalid(place, what))?;
    may_deploy(&api, &caller, named.unwrap_or("*"))?;
    let manager = manager(&api)?;
    if !manager.has_staging() {
        let msg =
            "this server has no staging directory; set code.staging_directory in its configuration";
        return Err(ApiError::new(kinds::NO_STAGING, msg).into());
    }
    let wanted = match named {
        Some(name) => vec![(
            environment("submodule-id", name)?,
            DeploymentAction::Publish,
        )],
        None => manager.plan_staged().await.map_err(submit_error)?,
    };
    let by = DeploymentRequester {
        owner: caller.0.login.clone(),
        reason: commit_reason(&command),
    };
    let submitted = manager.submit(wanted, by).await.map_err(submit_error)?;
    let ended = wait_for_all(submitted).await?;
    let failed: Vec<Value> = ended.iter().filter_map(failure).collect();
    if !failed.is_empty() {
        let msg = format!(
            "{} of {} environments were not published, and are as they were before",
            failed.len(),
            ended.len()
        );
        let error = ApiError::new(kinds::DEPLOY_FAILURE, msg);
        return Err(error.with("environments", Value::from(failed)).into());
    }
    let mut latest = require_file_sync(&api)?.latest_repository();
    let is_meant = |name: &String| ended.iter().any(|it| it.environment == *name);
    latest.submodules.retain(|name, _| is_meant(name));
    let reply: BTreeMap<String, FileSyncRepository> = [(REPOSITORY.to_owned(), latest)].into();
    Ok(Json(reply))
}

fn commit_reason(command: &FileSyncCommitCommand) -> String {
    let message = &command.message;
    match &command.author {
        None => message.clone(),
        Some(author) if author.email.is_empty() => format!("{message} ({})", author.name),
        Some(author) => format!("{message} ({} <{}>)", author.name, author.email),
    }
}

fn failure(deployment: &Deployment) -> Option<Value> {
    let error = deployment.outcome.as_ref()?.error.as_ref()?;
    Some(json!({
        "environment": deployment.environment,
        "id": deployment.id,
        "kind": error.kind,
        "msg": error.msg,
    }))
}
