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
use webhooks::{Hook, HookChange, HookError, NewHook, Template, WebhookError};

use crate::Shared;
use crate::body::StrictBody;
use crate::failure::Failure;
use crate::guard::Caller;
use crate::request_parameters::PathVariables;

pub(crate) async fn list(State(api): State<Shared>) -> Result<Json<WebhookList>, Failure> {
    let hooks = api.webhooks.list().await.map_err(refusal)?;
    let items = hooks.into_iter().map(shown).collect::<Result<_, _>>()?;
    Ok(Json(WebhookList { items }))
}

pub(crate) async fn show(
    State(api): State<Shared>,
    variables: PathVariables<String>,
) -> Result<Json<Webhook>, Failure> {
    let hook = api.webhooks.get(id(variables)?).await.map_err(refusal)?;
    Ok(Json(shown(hook)?))
}

pub(crate) async fn create(
    State(api): State<Shared>,
    caller: Caller,
    StrictBody(asked): StrictBody<NewWebhook>,
) -> Result<(StatusCode, Json<WebhookWithSecret>), Failure> {
    let new = NewHook {
        url: asked.url,
        events: asked.events,
        template: template(asked.template.as_deref())?.unwrap_or_default(),
        description: asked.description,
        secret: asked.secret.map(Into::into),
        created_by: caller.0.login.clone(),
    };
    let (hook, secret) = api.webhooks.create(new).await.map_err(refusal)?;
    let created = WebhookWithSecret {
        webhook: shown(hook)?,
        secret: Some(secret.expose().to_owned()),
    };
    Ok((StatusCode::CREATED, Json(created)))
}

pub(crate) async fn edit(
    State(api): State<Shared>,
    variables: PathVariables<String>,
    StrictBody(asked): StrictBody<WebhookEdit>,
) -> Result<Json<WebhookWithSecret>, Failure> {
    let change = HookChange {
        url: asked.url,
        events: asked.events,
        template: template(asked.template.as_deref())?,
        description: asked.description,
        is_enabled: asked.enabled,
        renew_secret: asked.renew_secret,
    };
    let changed = api.webhooks.change(id(variables)?, change).await;
    let (hook, secret) = changed.map_err(refusal)?;
    Ok(Json(WebhookWithSecret {
        webhook: shown(hook)?,
        secret: secret.map(|secret| secret.expose().to_owned()),
    }))
}

pub(crate) async fn delete(
    State(api): State<Shared>,
    variables: PathVariables<String>,
) -> Result<StatusCode, Failure> {
    let deleted = api.webhooks.delete(id(variables)?).await;
    deleted.map_err(refusal)?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn test(
    State(api): State<Shared>,
    variables: PathVariables<String>,
) -> Result<Json<WebhookTest>, Failure> {
    let told = api.webhooks.test(id(variables)?).await.map_err(refusal)?;
    Ok(Json(WebhookTest {
        delivered: told.outcome.is_ok(),
        body: told.body,
        error: told.outcome.err().map(|error| error.to_string()),
    }))
}

fn id(PathVariables(text): PathVariables<String>) -> Result<Uuid, ApiError> {
    text.parse().map_err(|_| {
        let what = "the id of a webhook is a UUID; `tutti webhook list` shows those there are";
        ApiError::invalid("webhook", what)
    })
}

fn template(name: Option<&str>) -> Result<Option<Template>, ApiError> {
    let parsed = name.map(str::parse).transpose();
    parsed.map_err(|error| ApiError::invalid("template", error))
}

fn shown(hook: Hook) -> Result<Webhook, Failure> {
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

fn refusal(error: WebhookError) -> Failure {
    let text = error.to_string();
    match error {
        WebhookError::Invalid(error) => ApiError::invalid(place(&error), text).into(),
        WebhookError::Unknown(id) => ApiError::new(kinds::UNKNOWN_WEBHOOK, text)
            .with("webhook", json!(id))
            .into(),
        WebhookError::TooMany => ApiError::new(kinds::TOO_MANY_WEBHOOKS, text).into(),
        error @ (WebhookError::Sealed | WebhookError::Store(_)) => {
            Failure::internal("read or write webhooks", &error)
        }
    }
}

fn place(error: &HookError) -> &'static str {
    match error {
        HookError::Url(_) => "url",
        HookError::Secret(_) => "secret",
        HookError::Events { .. } | HookError::ManyEvents(_) => "events",
        HookError::Template(_) => "template",
        HookError::Description => "description",
    }
}
