//! Webhooks that receive events: `/tutti/v1/webhooks`.

use api_types::{
    ApiError, NewWebhook, Timestamp, Webhook, WebhookEdit, WebhookList, WebhookTest,
    WebhookWithSecret, kinds,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::json;
use uuid::Uuid;
use webhooks::{
    InvalidWebhook, MessageTemplate, RegisteredWebhook, WebhookChangeRequest, WebhookCreateRequest,
    WebhookError,
};

use crate::SharedApiContext;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::request_parameters::PathVariables;

pub(crate) async fn list(
    State(api): State<SharedApiContext>,
) -> Result<Json<WebhookList>, ApiFailure> {
    let hooks = api.webhooks.list().await.map_err(webhook_error)?;
    let items = hooks
        .into_iter()
        .map(webhook_reply)
        .collect::<Result<_, _>>()?;
    Ok(Json(WebhookList { items }))
}

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    variables: PathVariables<String>,
) -> Result<Json<Webhook>, ApiFailure> {
    let hook = api
        .webhooks
        .get(parse_id(variables)?)
        .await
        .map_err(webhook_error)?;
    Ok(Json(webhook_reply(hook)?))
}

pub(crate) async fn create(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    StrictBody(asked): StrictBody<NewWebhook>,
) -> Result<(StatusCode, Json<WebhookWithSecret>), ApiFailure> {
    let new = WebhookCreateRequest {
        url: asked.url,
        events: asked.events,
        template: template(asked.template.as_deref())?.unwrap_or_default(),
        description: asked.description,
        secret: asked.secret.map(Into::into),
        created_by: caller.0.login.clone(),
    };
    let (hook, secret) = api.webhooks.create(new).await.map_err(webhook_error)?;
    let created = WebhookWithSecret {
        webhook: webhook_reply(hook)?,
        secret: Some(secret.expose().to_owned()),
    };
    Ok((StatusCode::CREATED, Json(created)))
}

pub(crate) async fn edit(
    State(api): State<SharedApiContext>,
    variables: PathVariables<String>,
    StrictBody(asked): StrictBody<WebhookEdit>,
) -> Result<Json<WebhookWithSecret>, ApiFailure> {
    let change = WebhookChangeRequest {
        url: asked.url,
        events: asked.events,
        template: template(asked.template.as_deref())?,
        description: asked.description,
        is_enabled: asked.enabled,
        renew_secret: asked.renew_secret,
    };
    let changed = api.webhooks.change(parse_id(variables)?, change).await;
    let (hook, secret) = changed.map_err(webhook_error)?;
    Ok(Json(WebhookWithSecret {
        webhook: webhook_reply(hook)?,
        secret: secret.map(|secret| secret.expose().to_owned()),
    }))
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
    let told = api
        .webhooks
        .test(parse_id(variables)?)
        .await
        .map_err(webhook_error)?;
    Ok(Json(WebhookTest {
        delivered: told.outcome.is_ok(),
        body: told.body,
        error: told.outcome.err().map(|error| error.to_string()),
    }))
}

fn parse_id(PathVariables(text): PathVariables<String>) -> Result<Uuid, ApiError> {
    text.parse().map_err(|_| {
        let what = "the id of a webhook is a UUID; `tutti webhook list` shows those there are";
        ApiError::invalid("webhook", what)
    })
}

fn template(name: Option<&str>) -> Result<Option<MessageTemplate>, ApiError> {
    let parsed = name.map(str::parse).transpose();
    parsed.map_err(|error| ApiError::invalid("template", error))
}

fn webhook_reply(hook: RegisteredWebhook) -> Result<Webhook, ApiFailure> {
    Ok(Webhook {
        id: hook.id.to_string(),
        url: hook.url,
        events: hook.events,
        template: hook.template.to_string(),
        description: hook.description,
        enabled: hook.is_enabled,
        created_by: hook.created_by,
        created_timestamp: Timestamp::from_ms(hook.created_ms),
        delivered: hook.delivered,
        given_up: hook.given_up,
        failing_since: hook.failing_ms.map(Timestamp::from_ms),
        last_error: hook.last_error,
    })
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
