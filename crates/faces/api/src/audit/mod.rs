//! The audit of every request, before and after authorization.
//!
//! [`watch`] is outside the guard and records refusals; [`keep`] is inside and records commands.
//! Invariants: a command runs only after its entry is durable, and is refused if that entry cannot
//! be written; it gets a second entry with its result; and nothing of a request is stored but the
//! details that [`facts`] and [`path`] list. [`api_types::Trail`] determines which routes are
//! commands.

pub(crate) mod activity;
mod facts;
mod outcome;
mod path;

pub(crate) use outcome::RefusedKind;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use api_types::{ApiError, Policy, Route, Trail, kinds};
use audit::{Act, Actor, ActorKind, AuditError, Intent, Outcome};
use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{Extensions, Uri};
use axum::middleware::Next;
use axum::response::Response;
use https::PeerCertificate;

use crate::Shared;
use crate::body;
use crate::defaults::SECRETS_NAMED;
use crate::failure::Failure;
use crate::guard::{Caller, GuardState};

/// Login of the user, in the response to a login whose body does not contain it.
#[derive(Clone, Debug)]
pub(crate) struct LoggedIn(pub(crate) String);

/// The state of one request, shared by both sides of the guard.
#[derive(Debug, Default)]
struct AuditMarks {
    caller: OnceLock<Caller>,
    /// True if the request has its entries.
    told: AtomicBool,
}

/// The origin of a request.
pub(crate) struct Origin {
    address: Option<IpAddr>,
    certname: Option<String>,
    uri: Uri,
}

/// Records the authenticated caller, before the caller's permissions are checked.
pub(crate) fn met(request: &Request, caller: &Caller) {
    if let Some(witness) = request.extensions().get::<Arc<AuditMarks>>() {
        // It is set once, since there is one guard.
        let _ = witness.caller.set(caller.clone());
    }
}

/// Writes an entry for a request that is refused.
pub(crate) async fn watch(
    State((api, route)): State<GuardState>,
    mut request: Request,
    next: Next,
) -> Response {
    let witness = Arc::new(AuditMarks::default());
    request.extensions_mut().insert(Arc::clone(&witness));
    let origin = Origin::of(&request);
    let response = next.run(request).await;
    if !witness.told.load(Ordering::Relaxed)
        && let Some(outcome) = outcome::refusal(&response)
    {
        let act = act(route, &origin, witness.caller.get());
        api.audit.refused(&act, &outcome).await;
    }
    response
}

/// Writes the entries of an authorized request.
pub(crate) async fn keep(
    State((api, route)): State<GuardState>,
    request: Request,
    next: Next,
) -> Result<Response, Failure> {
    match route.trail {
        Trail::Nothing => Ok(next.run(request).await),
        Trail::Command => Box::pin(command(api, route, request, next)).await,
        Trail::Login => Box::pin(login(api, route, request, next)).await,
    }
}

async fn command(
    api: Shared,
    route: &'static Route,
    request: Request,
    next: Next,
) -> Result<Response, Failure> {
    let origin = Origin::of(&request);
    let mut act = act(route, &origin, request.extensions().get());
    facts::of_query(&mut act, &origin.uri);
    let request = match route.reads_body() {
        true => {
            let (request, bytes) = body::buffered(request, &api).await?;
            facts::of_body(&mut act, &bytes);
            request
        }
        false => request,
    };
    let witness = request.extensions().get::<Arc<AuditMarks>>().cloned();
    let intent = api.audit.intent(act).await.map_err(unwritable)?;
    mark_recorded(witness.as_ref());
    let (response, outcome) = outcome::of(next.run(request).await).await;
    intent.finish(outcome).await;
    Ok(response)
}

/// Writes the entry of a login. The user is known only afterwards, so this entry is written after
/// the login and before the response: without it, the client does not get the token.
async fn login(
    api: Shared,
    route: &'static Route,
    request: Request,
    next: Next,
) -> Result<Response, Failure> {
    let origin = Origin::of(&request);
    let witness = request.extensions().get::<Arc<AuditMarks>>().cloned();
    let (request, bytes) = body::buffered(request, &api).await?;
    let mut act = act(route, &origin, None);
    facts::of_body(&mut act, &bytes);
    act.actor.name = facts::login(&bytes).unwrap_or_default();
    let response = next.run(request).await;
    // Only now is the user known.
    if let Some(LoggedIn(login)) = response.extensions().get() {
        act.actor.name.clone_from(login);
    }
    if let Some(outcome) = outcome::refusal(&response) {
        mark_recorded(witness.as_ref());
        api.audit.refused(&act, &outcome).await;
        return Ok(response);
    }
    if !response.status().is_success() {
        return Ok(response);
    }
    let user = api.store.user_by_login(&act.actor.name).await?;
    act.actor.kind = ActorKind::User;
    act.actor.id = user.map(|user| user.id).unwrap_or_default();
    let outcome = outcome::success(&response);
    api.audit.login(&act, &outcome).await.map_err(unwritable)?;
    Ok(response)
}

/// Writes the entry of a webhook that is about to start deployments in these environments. Only its
/// handler can check its permission, so the guard does not write it.
pub(crate) async fn by_hook(
    api: &Shared,
    route: &'static Route,
    origin: &Origin,
    caller: Option<&Caller>,
    (forge, environments): (String, Vec<&str>),
) -> Result<Intent, Failure> {
    let mut act = act(route, origin, caller);
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
pub(crate) async fn secrets_read(
    api: &Shared,
    route: &'static Route,
    origin: &Origin,
    caller: &Caller,
    (kind, names): (&str, Vec<String>),
) -> Result<(), Failure> {
    let mut act = act(route, origin, Some(caller));
    act.permission = Some("nodes:view_inventory_sensitive".to_owned());
    let count = names.len();
    let named: Vec<String> = names.into_iter().take(SECRETS_NAMED).collect();
    act.details.insert("secrets_of".to_owned(), kind.into());
    act.details.insert("count".to_owned(), count.into());
    act.details.insert("names".to_owned(), named.into());
    let outcome = Outcome {
        status: Some(200),
        ..Outcome::default()
    };
    let recorded = api.audit.record(&act, &outcome).await;
    recorded.map(drop).map_err(unwritable)
}

/// The outcome of a webhook.
pub(crate) fn of_hook<T>(done: &Result<T, Failure>) -> Outcome {
    match done {
        Ok(_) => Outcome {
            status: Some(200),
            ..Outcome::default()
        },
        Err(Failure(error)) => Outcome {
            status: Some(error.status),
            error: Some(error.body.kind.clone()),
            ..Outcome::default()
        },
    }
}

/// Marks the request as recorded.
fn mark_recorded(witness: Option<&Arc<AuditMarks>>) {
    if let Some(witness) = witness {
        witness.told.store(true, Ordering::Relaxed);
    }
}

fn unwritable(error: AuditError) -> Failure {
    let what = "write the entry of the audit, and without one nothing is done";
    let Failure(told) = Failure::internal(what, &error);
    ApiError::new(kinds::UNAVAILABLE, told.body.msg).into()
}

fn act(route: &'static Route, origin: &Origin, caller: Option<&Caller>) -> Act {
    let variables = path::variables(route.path, origin.uri.path());
    Act {
        actor: origin.actor(caller),
        service: path::service(route.path).to_owned(),
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

// === impl Origin ===

impl Origin {
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

    fn actor(&self, caller: Option<&Caller>) -> Actor {
        let mut actor = match (caller, &self.certname) {
            (Some(caller), _) => Actor {
                kind: ActorKind::User,
                id: caller.0.user_id.clone(),
                name: caller.0.login.clone(),
                address: None,
            },
            (None, Some(certname)) => Actor::certificate(certname),
            (None, None) => Actor::default(),
        };
        actor.address = self.address;
        actor
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Origin {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::new(&parts.extensions, &parts.uri))
    }
}
