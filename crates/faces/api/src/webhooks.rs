//! Webhooks that receive events: `/tutti/v1/webhooks`.

use api_types::{
    ApiError, NewWebhook, Webhook, WebhookEdit, WebhookList, WebhookTest, WebhookWithSecret, kinds,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::json;
use uuid::Uuid;
use webhooks::{InvalidWebhook, SigningSecret, WebhookError};

use crate::SharedApiContext;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::request_parameters::PathVariables;

pub(crate) async fn list(
    State(api): State<SharedApiContext>,
) -> Result<Json<WebhookList>, ApiFailure> {
    let items = api.webhooks.list().await.map_err(webhook_error)?;
    Ok(Json(WebhookList { items }))
}

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    variables: PathVariables<String>,
) -> Result<Json<Webhook>, ApiFailure> {
    let hook = api.webhooks.get(parse_id(variables)?).await;
    Ok(Json(hook.map_err(webhook_error)?))
}

pub(crate) async fn create(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    StrictBody(new): StrictBody<NewWebhook>,
) -> Result<(StatusCode, Json<WebhookWithSecret>), ApiFailure> {
    let created = api.webhooks.create(new, caller.0.login.clone()).await;
    let (webhook, secret) = created.map_err(webhook_error)?;
    let reply = with_secret(webhook, Some(&secret));
    Ok((StatusCode::CREATED, reply))
}

pub(crate) async fn edit(
    State(api): State<SharedApiContext>,
    variables: PathVariables<String>,
    StrictBody(edit): StrictBody<WebhookEdit>,
) -> Result<Json<WebhookWithSecret>, ApiFailure> {
    let changed = api.webhooks.change(parse_id(variables)?, edit).await;
    let (webhook, secret) = changed.map_err(webhook_error)?;
    Ok(with_secret(webhook, secret.as_ref()))
}

pub(crate) async fn delete(
    State(api): State<SharedApiContext>,
    variables: PathVariables<String>,
) -> Result<StatusCode, ApiFailure> {
    let deleted = api.webhooks.delete(parse_id(variables)?).await;
    deleted.map_err(webhook_error)?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn test(
    State(api): State<SharedApiContext>,
    variables: PathVariables<String>,
) -> Result<Json<WebhookTest>, ApiFailure> {
    let test = api.webhooks.test(parse_id(variables)?).await;
    Ok(Json(test.map_err(webhook_error)?))
}

fn parse_id(PathVariables(text): PathVariables<String>) -> Result<Uuid, ApiError> {
    text.parse().map_err(|_| {
        let what = "the id of a webhook is a UUID; `tutti webhook list` shows those there are";
        ApiError::invalid("webhook", what)
    })
}

fn with_secret(webhook: Webhook, secret: Option<&SigningSecret>) -> Json<WebhookWithSecret> {
    let secret = secret.map(|secret| secret.expose().to_owned());
    Json(WebhookWithSecret { webhook, secret })
}

fn webhook_error(error: WebhookError) -> ApiFailure {
    let text = error.to_string();
    match error {
        WebhookError::Invalid(error) => ApiError::invalid(error_field(&error), text).into(),
        WebhookError::Unknown(id) => ApiError::new(kinds::UNKNOWN_WEBHOOK, text)
            .with("webhook", json!(id))
            .into(),
        WebhookError::TooMany => ApiError::new(kinds::TOO_MANY_WEBHOOKS, text).into(),
        error @ (WebhookError::Sealed | WebhookError::Store(_)) => {
            ApiFailure::internal("read or write webhooks", &error)
        }
    }
}

fn error_field(error: &InvalidWebhook) -> &'static str {
    match error {
        InvalidWebhook::Url(_) => "url",
        InvalidWebhook::Secret(_) => "secret",
        InvalidWebhook::Events { .. } | InvalidWebhook::ManyEvents(_) => "events",
        InvalidWebhook::Template(_) => "template",
        InvalidWebhook::Description => "description",
    }
}
