//! webhook-go's routes for its state: `GET /api/v1/queue` and `GET /health`.
//!
//! Invariant: the queue is visible with the secret of webhooks, and to users who may view
//! deployments.

use api_types::{
    ApiError, PreciseTimestamp, WebhookGoHealth, WebhookQueueItem, WebhookQueueTime, kinds,
};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use code_deployments::service::{Deployment, DeploymentState};
use forges::incoming_webhooks::WebhookVerification;
use rbac::RequestedPermission;

use super::{manager, service};
use crate::SharedApiContext;
use crate::credentials::token;
use crate::defaults::WEBHOOK_QUEUE_ITEMS;
use crate::failure::ApiFailure;
use crate::request_parameters::QueryParameters;

/// The last deployments, oldest first.
pub(crate) async fn webhook_queue(
    State(api): State<SharedApiContext>,
    headers: HeaderMap,
    uri: Uri,
    QueryParameters(given): QueryParameters,
) -> Result<Json<Vec<WebhookQueueItem>>, ApiFailure> {
    given.finish()?;
    require_queue_permission(&api, &headers, &uri).await?;
    let newest = manager(&api)?.history(None, None, WEBHOOK_QUEUE_ITEMS);
    let newest = newest.await?;
    Ok(Json(newest.into_iter().rev().map(item).collect()))
}

/// Always the same response, as webhook-go sends while it runs.
pub(crate) async fn webhook_health(
    QueryParameters(given): QueryParameters,
) -> Result<Json<WebhookGoHealth>, ApiFailure> {
    given.finish()?;
    Ok(Json(WebhookGoHealth {
        message: "running".to_owned(),
    }))
}

async fn require_queue_permission(
    api: &SharedApiContext,
    headers: &HeaderMap,
    uri: &Uri,
) -> Result<(), ApiFailure> {
    let shown = headers.get("authorization");
    let shown = shown.and_then(|value| value.to_str().ok());
    let secret = service(api)?.webhook_secret();
    let proof = match (&secret, shown) {
        (Ok(Some(secret)), Some(shown)) => secret.verify_password(shown),
        _ => WebhookVerification::Absent,
    };
    let (kind, msg) = match (proof, token(headers, uri)) {
        (WebhookVerification::Valid, _) => return Ok(()),
        (_, Some(token)) => {
            let identity = api.access.authenticate(&token).await?;
            let permission = RequestedPermission::any("orchestrator", "view");
            return Ok(api.access.authorize(&identity, permission)?);
        }
        (WebhookVerification::Invalid, None) => (
            kinds::WEBHOOK_UNSIGNED,
            "the password is not the secret in code.webhook_secret_file of the server",
        ),
        (WebhookVerification::Absent, None) => (
            kinds::UNAUTHENTICATED,
            "this needs the secret of code.webhook_secret_file as the password of basic authentication, or a token \
             in X-Authentication or as ?token=",
        ),
    };
    secret?;
    Err(ApiError::new(kind, msg).into())
}

fn item(deployment: Deployment) -> WebhookQueueItem {
    let time = |ms: Option<i64>| WebhookQueueTime(ms.map(PreciseTimestamp::from_ms));
    let is_of_modules = deployment.action == "modules";
    let outcome = deployment.outcome.as_ref();
    let response = outcome.and_then(|outcome| match &outcome.error {
        Some(error) => Some(error.msg.clone()),
        None => deployment.signature.clone(),
    });
    let state = match deployment.state {
        DeploymentState::Queued | DeploymentState::Deploying | DeploymentState::Syncing => "added",
        DeploymentState::Synced => "success",
        DeploymentState::Failed => "failed",
    };
    let command = ["tutti", "code", "deploy", &deployment.environment];
    WebhookQueueItem {
        id: deployment.id.to_string(),
        command_type: if is_of_modules {
            "module"
        } else {
            "environment"
        }
        .to_owned(),
        added_at: time(Some(deployment.queued_ms)),
        started_at: time(deployment.started_ms),
        finished_at: time(deployment.finished_ms),
        command: command.map(str::to_owned).to_vec(),
        response,
        state: state.to_owned(),
        name: deployment.environment,
    }
}
