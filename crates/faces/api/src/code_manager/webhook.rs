//! `POST webhook`, for the pushes of forges, and the same routes as webhook-go.
//!
//! Invariants: a request needs the secret or a token with the permission for the environment; and
//! like any command, a deployment is recorded in the audit before it starts.

use api_types::parameters::Parameters;
use api_types::{
    ApiError, CodeDeploy, CodeModuleWebhookQuery, CodeWebhookQuery, CodeWebhookReply, Route, kinds,
    routes,
};
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Uri};
use code_deployments::CodeManager;
use code_deployments::service::{DeploymentAction, DeploymentRequester};
use environments::EnvironmentName;
use forges::incoming_webhooks::{
    ForgeKind, ForgePush, IncomingWebhookError, WebhookVerification, environments_from_branches,
    environments_with_module,
};
use serde_json::json;

use super::{CodeService, manager, may_deploy, responses, service, submit_error};
use crate::SharedApiContext;
use crate::audit::{self, RequestOrigin};
use crate::body;
use crate::caller::ApiCaller;
use crate::credentials::token;
use crate::failure::ApiFailure;
use crate::request_parameters::QueryParameters;

/// The sender of a webhook.
enum WebhookSender {
    /// A user with a token.
    Caller(ApiCaller),
    /// A forge that knows the secret.
    Forge,
}

/// A message whose sender is known.
struct WebhookMessage {
    host: ForgeKind,
    from: WebhookSender,
    headers: HeaderMap,
    body: Bytes,
    pushes: Vec<ForgePush>,
    origin: RequestOrigin,
}

/// The route of Code Manager.
pub(crate) async fn webhook(
    State(api): State<SharedApiContext>,
    QueryParameters(given): QueryParameters,
    request: Request,
) -> Result<Json<CodeWebhookReply>, ApiFailure> {
    environments(&api, &routes::CODE_WEBHOOK, given, request).await
}

/// The route of webhook-go for control repositories.
pub(crate) async fn webhook_r10k(
    State(api): State<SharedApiContext>,
    QueryParameters(given): QueryParameters,
    request: Request,
) -> Result<Json<CodeWebhookReply>, ApiFailure> {
    environments(&api, &routes::CODE_WEBHOOK_R10K, given, request).await
}

/// The route of webhook-go for repositories of modules.
pub(crate) async fn webhook_module(
    State(api): State<SharedApiContext>,
    QueryParameters(given): QueryParameters,
    request: Request,
) -> Result<Json<CodeWebhookReply>, ApiFailure> {
    let query = CodeModuleWebhookQuery::read(given)?;
    let message = WebhookMessage::read_message(&api, query.kind.as_deref(), request).await?;
    let manager = manager(&api)?;
    let repository = message.host.repository(&message.body);
    let mut wanted = Vec::new();
    if !message.pushes.is_empty() {
        let name = query.module_name.as_deref();
        let found = environments_with_module(manager.versions(), repository, name).await;
        wanted = found.map_err(submit_error)?;
    }
    if query.branch_only {
        let pushes = message.pushes.iter();
        let of: Vec<EnvironmentName> = pushes
            .flat_map(|push| manager.environments_of_branch(&push.branch, None))
            .collect();
        wanted.retain(|(name, _)| of.contains(name));
    }
    let renew = |(environment, names)| {
        let dry_run = false;
        (environment, DeploymentAction::Modules { names, dry_run })
    };
    let wanted = wanted.into_iter().map(renew).collect();
    start_deployments(&api, &routes::CODE_WEBHOOK_MODULE, &message, wanted).await
}

async fn environments(
    api: &SharedApiContext,
    route: &'static Route,
    given: Parameters,
    request: Request,
) -> Result<Json<CodeWebhookReply>, ApiFailure> {
    let query = CodeWebhookQuery::read(given)?;
    let message = WebhookMessage::read_message(api, query.kind.as_deref(), request).await?;
    let mut wanted = deployments_for_push(manager(api)?, &message.pushes, query.prefix.as_deref());
    if query.prefix.is_none() {
        add_listed_environments(manager(api)?, &message, &mut wanted).await?;
    }
    start_deployments(api, route, &message, wanted).await
}

/// Adds environments of lists, whose names differ from their branches.
async fn add_listed_environments(
    manager: &CodeManager,
    message: &WebhookMessage,
    wanted: &mut Vec<(EnvironmentName, DeploymentAction)>,
) -> Result<(), ApiFailure> {
    let Some(repository) = message.host.repository(&message.body) else {
        return Ok(());
    };
    let there = message.pushes.iter().filter(|push| !push.is_gone);
    let branches = there.map(|push| push.branch.clone()).collect();
    let listed = environments_from_branches(manager.versions(), repository, branches).await;
    for environment in listed.map_err(submit_error)? {
        if !wanted.iter().any(|(known, _)| *known == environment) {
            wanted.push((environment, DeploymentAction::Deploy { dry_run: false }));
        }
    }
    Ok(())
}

// === impl WebhookMessage ===

impl WebhookMessage {
    async fn read_message(
        api: &SharedApiContext,
        kind: Option<&str>,
        request: Request,
    ) -> Result<Self, ApiFailure> {
        let service = service(api)?;
        let (headers, uri) = (request.headers().clone(), request.uri().clone());
        let origin = RequestOrigin::of(&request);
        let header = header(&headers);
        let host = ForgeKind::detect(kind, &header).map_err(misread)?;
        let (_, body) = body::buffer_body(request, api).await?;
        let secret = service.webhook_secret();
        let proof = match &secret {
            Ok(Some(secret)) => secret.verify(host, &header, &body),
            Ok(None) | Err(_) => WebhookVerification::Absent,
        };
        let from = match (sender(api, proof, &headers, &uri).await, secret) {
            (Err(_), Err(unreadable)) => return Err(unreadable),
            (from, _) => from?,
        };
        let pushes = host.parse_pushes(&header, &body).map_err(misread)?;
        drop(header);
        Ok(Self {
            host,
            from,
            headers,
            body,
            pushes,
            origin,
        })
    }
}

fn header<'h>(headers: &'h HeaderMap) -> impl Fn(&str) -> Option<&'h str> + 'h {
    |name| headers.get(name).and_then(|value| value.to_str().ok())
}

/// Starts the deployments for a message.
async fn start_deployments(
    api: &SharedApiContext,
    route: &'static Route,
    message: &WebhookMessage,
    wanted: Vec<(EnvironmentName, DeploymentAction)>,
) -> Result<Json<CodeWebhookReply>, ApiFailure> {
    let WebhookMessage { host, from, .. } = message;
    let service = service(api)?;
    if let WebhookSender::Caller(caller) = from {
        for (environment, _) in &wanted {
            may_deploy(api, caller, environment.as_str())?;
        }
    }
    if wanted.is_empty() {
        return Ok(Json(webhook_reply(Vec::new())));
    }
    let taken = match from {
        WebhookSender::Forge => refuse_repeated_delivery(service, route, message, &wanted)?,
        WebhookSender::Caller(_) => Vec::new(),
    };
    let forge = format!("webhook of {host}");
    let by = DeploymentRequester {
        owner: from
            .caller()
            .map_or(&forge, |caller| &caller.0.login)
            .clone(),
        reason: String::new(),
    };
    let names = wanted.iter().map(|(name, _)| name.as_str()).collect();
    let intent =
        audit::record_webhook(api, route, &message.origin, from.caller(), (forge, names)).await;
    let submitted = match intent {
        Ok(intent) => {
            let submitted = match service.manager() {
                Ok(manager) => manager.submit(wanted, by).await.map_err(submit_error),
                Err(failure) => Err(failure),
            };
            intent.finish(audit::webhook_outcome(&submitted)).await;
            submitted
        }
        Err(failure) => Err(failure),
    };
    if submitted.is_err()
        && let Ok(mut deliveries) = service.deliveries.lock()
    {
        // The forge sends the message again, and that retry must be handled.
        deliveries.forget(&taken);
    }
    let deploys = submitted?
        .deployments
        .into_iter()
        .map(responses::queued_reply);
    Ok(Json(webhook_reply(deploys.collect())))
}

fn webhook_reply(deploys: Vec<CodeDeploy>) -> CodeWebhookReply {
    CodeWebhookReply {
        status: "OK".to_owned(),
        deploys,
    }
}

async fn sender(
    api: &SharedApiContext,
    proof: WebhookVerification,
    headers: &HeaderMap,
    uri: &Uri,
) -> Result<WebhookSender, ApiFailure> {
    let (kind, msg) = match (proof, token(headers, uri)) {
        (WebhookVerification::Valid, _) => return Ok(WebhookSender::Forge),
        (WebhookVerification::Absent, Some(token)) => {
            return Ok(WebhookSender::Caller(ApiCaller(
                api.access.authenticate(&token).await?,
            )));
        }
        (WebhookVerification::Invalid, _) => (
            kinds::WEBHOOK_UNSIGNED,
            "the signature or secret of the webhook is wrong: give the forge the secret that is in \
             code.webhook_secret_file of the server",
        ),
        (WebhookVerification::Absent, None) => (
            kinds::UNAUTHENTICATED,
            "the webhook shows no signature that could be checked, and no token: set \
             code.webhook_secret_file of the server and the same secret at the forge, or add ?token= \
             to the webhook's address",
        ),
    };
    Err(ApiError::new(kind, msg).into())
}

/// The deployments for a push: a deleted branch removes its environment only if the sources confirm
/// the deletion.
fn deployments_for_push(
    manager: &CodeManager,
    pushes: &[ForgePush],
    prefix: Option<&str>,
) -> Vec<(EnvironmentName, DeploymentAction)> {
    let each = pushes.iter().flat_map(|push| {
        let action = match push.is_gone {
            true => DeploymentAction::Remove,
            false => DeploymentAction::Deploy { dry_run: false },
        };
        let names = manager.environments_of_branch(&push.branch, prefix);
        names.into_iter().map(move |name| (name, action.clone()))
    });
    each.collect()
}

/// Refuses a message that was delivered before, on the same route and for the same environments: a
/// repository may have several webhooks. Returns the key of the delivery.
fn refuse_repeated_delivery(
    service: &CodeService,
    route: &Route,
    message: &WebhookMessage,
    wanted: &[(EnvironmentName, DeploymentAction)],
) -> Result<Vec<String>, ApiFailure> {
    let (host, header) = (message.host, header(&message.headers));
    let environments: Vec<&str> = wanted.iter().map(|(name, _)| name.as_str()).collect();
    let place = format!("{} {}", route.path, environments.join(" "));
    let names = host.replay_ids(&header, &message.body).into_iter();
    let names: Vec<String> = names.map(|name| format!("{name} {place}")).collect();
    let taken = match service.deliveries.lock().as_mut() {
        Ok(deliveries) => deliveries.record_all(&names).is_ok(),
        Err(_) => true,
    };
    match taken {
        true => Ok(names),
        false => {
            let msg = "this message was taken before; to deploy again, push, or ask for deploys";
            let refused = ApiError::new(kinds::WEBHOOK_REPLAYED, msg);
            Err(refused
                .with("delivery", json!(host.delivery_id(&header)))
                .into())
        }
    }
}

fn misread(error: IncomingWebhookError) -> ApiFailure {
    let said = error.to_string();
    match error {
        IncomingWebhookError::Host => ApiError::new(kinds::WEBHOOK_TYPE, said)
            .with("types", json!(forges::incoming_webhooks::TYPES))
            .into(),
        IncomingWebhookError::Body { .. } => ApiError::new(kinds::WEBHOOK_BODY, said).into(),
    }
}

// === impl WebhookSender ===

impl WebhookSender {
    fn caller(&self) -> Option<&ApiCaller> {
        match self {
            Self::Caller(caller) => Some(caller),
            Self::Forge => None,
        }
    }
}
