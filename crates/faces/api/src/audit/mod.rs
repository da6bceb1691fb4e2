//! The audit of every request, before and after authorization.
//!
//! [`audit_refusals`] is outside the guard and records refusals; [`audit_request`] is inside and
//! records commands. Invariants: a command runs only after its entry is durable, and is refused if
//! that entry cannot be written; it gets a second entry with its result; and nothing of a request
//! is stored but the details that [`request_details`] and [`path`] list. [`api_types::Trail`]
//! determines which routes are commands.

pub(crate) mod activity;
mod outcome;
mod path;
mod request_details;

pub(crate) use outcome::RecordedErrorKind;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use api_types::{ApiError, Policy, Route, Trail, kinds};
use audit::{ActorKind, AuditActor, AuditError, AuditIntent, AuditOutcome, AuditedAction};
use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{Extensions, Uri};
use axum::middleware::Next;
use axum::response::Response;
use https::PeerCertificate;

use crate::SharedApiContext;
use crate::body;
use crate::caller::ApiCaller;
use crate::defaults::SECRETS_NAMED;
use crate::failure::ApiFailure;
use crate::state::RouteState;

/// Login of the user, in the response to a login whose body does not contain it.
#[derive(Clone, Debug)]
pub(crate) struct LoginName(pub(crate) String);

/// The state of one request, shared by both sides of the guard.
#[derive(Debug, Default)]
struct AuditMarks {
    caller: OnceLock<ApiCaller>,
    /// True if the request has its entries.
    is_recorded: AtomicBool,
}

/// The origin of a request.
pub(crate) struct RequestOrigin {
    address: Option<IpAddr>,
    certname: Option<String>,
    uri: Uri,
}

/// Records the authenticated caller, before the caller's permissions are checked.
pub(crate) fn record_caller(request: &Request, caller: &ApiCaller) {
    if let Some(witness) = request.extensions().get::<Arc<AuditMarks>>() {
        // Set only once, because a route has one guard.
        let _ = witness.caller.set(caller.clone());
    }
}

/// Writes an entry for a request that is refused.
pub(crate) async fn audit_refusals(
    State((api, route)): State<RouteState>,
    mut request: Request,
    next: Next,
) -> Response {
    let witness = Arc::new(AuditMarks::default());
    request.extensions_mut().insert(Arc::clone(&witness));
    let origin = RequestOrigin::of(&request);
    let response = next.run(request).await;
    if !witness.is_recorded.load(Ordering::Relaxed)
        && let Some(outcome) = outcome::refusal_outcome(&response)
    {
        let act = audited_action(route, &origin, witness.caller.get());
        api.audit.record_refusal(&act, &outcome).await;
    }
    response
}

/// Writes the entries of an authorized request.
pub(crate) async fn audit_request(
    State((api, route)): State<RouteState>,
    request: Request,
    next: Next,
) -> Result<Response, ApiFailure> {
    match route.trail {
        Trail::Nothing => Ok(next.run(request).await),
        Trail::Command => Box::pin(command(api, route, request, next)).await,
        Trail::Login => Box::pin(login(api, route, request, next)).await,
    }
}

async fn command(
    api: SharedApiContext,
    route: &'static Route,
    request: Request,
    next: Next,
) -> Result<Response, ApiFailure> {
    let origin = RequestOrigin::of(&request);
    let mut act = audited_action(route, &origin, request.extensions().get());
    request_details::add_query_details(&mut act, &origin.uri);
    let request = match route.reads_body() {
        true => {
            let (request, bytes) = body::buffer_body(request, &api).await?;
            request_details::add_body_details(&mut act, &bytes);
            request
        }
        false => request,
    };
    let witness = request.extensions().get::<Arc<AuditMarks>>().cloned();
    let intent = api.audit.intent(act).await.map_err(unwritable)?;
    mark_recorded(witness.as_ref());
    let (response, outcome) = outcome::read_outcome(next.run(request).await).await;
    intent.finish(outcome).await;
    Ok(response)
}

/// Writes the entry of a login. The user is known only afterwards, so this entry is written after
/// the login and before the response: without it, the client does not get the token.
async fn login(
    api: SharedApiContext,
    route: &'static Route,
    request: Request,
    next: Next,
) -> Result<Response, ApiFailure> {
    let origin = RequestOrigin::of(&request);
    let witness = request.extensions().get::<Arc<AuditMarks>>().cloned();
    let (request, bytes) = body::buffer_body(request, &api).await?;
    let mut act = audited_action(route, &origin, None);
    request_details::add_body_details(&mut act, &bytes);
    act.actor.name = request_details::login(&bytes).unwrap_or_default();
    let response = next.run(request).await;
    // Only now is the user known.
    if let Some(LoginName(login)) = response.extensions().get() {
        act.actor.name.clone_from(login);
    }
    if let Some(outcome) = outcome::refusal_outcome(&response) {
        mark_recorded(witness.as_ref());
        api.audit.record_refusal(&act, &outcome).await;
        return Ok(response);
    }
    if !response.status().is_success() {
        return Ok(response);
    }
    let user = api.store.user_by_login(&act.actor.name).await?;
    act.actor.kind = ActorKind::User;
    act.actor.id = user.map(|user| user.id).unwrap_or_default();
    let outcome = outcome::success_outcome(&response);
    api.audit
        .record_login(&act, &outcome)
        .await
        .map_err(unwritable)?;
    Ok(response)
}

/// Writes the entry of a webhook that is about to start deployments in these environments. Only its
/// handler can check its permission, so the guard does not write it.
pub(crate) async fn record_webhook(
    api: &SharedApiContext,
    route: &'static Route,
    origin: &RequestOrigin,
    caller: Option<&ApiCaller>,
    (forge, environments): (String, Vec<&str>),
) -> Result<AuditIntent, ApiFailure> {
    let mut act = audited_action(route, origin, caller);
    if caller.is_none() {
        act.actor.name = forge;
    }
    act.details
        .insert("environments".to_owned(), environments.into());
    api.audit.intent(act).await.map_err(unwritable)
}

/// Writes the entry of a read that is about to return stored secrets; if that fails, the read is
/// refused. Other reads have no entry, so this one is written by the handler, which knows its
/// response.
pub(crate) async fn record_secrets_read(
    api: &SharedApiContext,
    route: &'static Route,
    origin: &RequestOrigin,
    caller: &ApiCaller,
    (kind, names): (&str, Vec<String>),
) -> Result<(), ApiFailure> {
    let mut act = audited_action(route, origin, Some(caller));
    act.permission = Some("nodes:view_inventory_sensitive".to_owned());
    let count = names.len();
    let named: Vec<String> = names.into_iter().take(SECRETS_NAMED).collect();
    act.details.insert("secrets_of".to_owned(), kind.into());
    act.details.insert("count".to_owned(), count.into());
    act.details.insert("names".to_owned(), named.into());
    let outcome = AuditOutcome {
        status: Some(200),
        ..AuditOutcome::default()
    };
    let recorded = api.audit.record(&act, &outcome).await;
    recorded.map(drop).map_err(unwritable)
}

/// The outcome of a webhook.
pub(crate) fn webhook_outcome<T>(done: &Result<T, ApiFailure>) -> AuditOutcome {
    match done {
        Ok(_) => AuditOutcome {
            status: Some(200),
            ..AuditOutcome::default()
        },
        Err(ApiFailure(error)) => AuditOutcome {
            status: Some(error.status),
            error: Some(error.body.kind.clone()),
            ..AuditOutcome::default()
        },
    }
}

/// Marks the request as recorded.
fn mark_recorded(witness: Option<&Arc<AuditMarks>>) {
    if let Some(witness) = witness {
        witness.is_recorded.store(true, Ordering::Relaxed);
    }
}

fn unwritable(error: AuditError) -> ApiFailure {
    let what = "write the entry of the audit, and without one nothing is done";
    let ApiFailure(told) = ApiFailure::internal(what, &error);
    ApiError::new(kinds::UNAVAILABLE, told.body.msg).into()
}

fn audited_action(
    route: &'static Route,
    origin: &RequestOrigin,
    caller: Option<&ApiCaller>,
) -> AuditedAction {
    let variables = path::variables(route.path, origin.uri.path());
    AuditedAction {
        actor: origin.actor(caller),
        service: path::service_of_route(route.path).to_owned(),
        action: route.operation_id.to_owned(),
        object: path::object(&variables),
        route: format!("{} {}", route.method, route.path),
        permission: match route.policy {
            Policy::Permission {
                object_type,
                action,
            } => Some(format!("{object_type}:{action}")),
            _ => None,
        },
        details: variables.into_iter().collect(),
    }
}

// === impl RequestOrigin ===

impl RequestOrigin {
    pub(crate) fn of(request: &Request) -> Self {
        Self::new(request.extensions(), request.uri())
    }

    fn new(extensions: &Extensions, uri: &Uri) -> Self {
        let peer = extensions.get::<ConnectInfo<SocketAddr>>();
        let certificate = extensions.get::<PeerCertificate>();
        let certname = certificate.and_then(PeerCertificate::certname);
        Self {
            address: peer.map(|ConnectInfo(address)| address.ip()),
            certname: certname.map(ToString::to_string),
            uri: uri.clone(),
        }
    }

    /// The IP address of the client.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.address
    }

    fn actor(&self, caller: Option<&ApiCaller>) -> AuditActor {
        let mut actor = match (caller, &self.certname) {
            (Some(caller), _) => AuditActor {
                kind: ActorKind::User,
                id: caller.0.user_id.clone(),
                name: caller.0.login.clone(),
                address: None,
            },
            (None, Some(certname)) => AuditActor::certificate(certname),
            (None, None) => AuditActor::default(),
        };
        actor.address = self.address;
        actor
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RequestOrigin {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::new(&parts.extensions, &parts.uri))
    }
}
