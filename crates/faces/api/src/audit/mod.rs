//! The audit of every request, around the door and behind it.
//!
//! [`watch`] stands outside of the door and writes refusals; [`keep`] stands behind it and writes
//! what is done. The rules: a command acts only when its entry is durable, and where that cannot
//! be written it is refused; it gets a second entry with its result; and nothing of a request is
//! kept but what [`facts`] and [`path`] list. Which routes are commands, [`api_types::Trail`] says.

pub(crate) mod activity;
mod facts;
mod outcome;
mod path;

pub(crate) use outcome::Refused;

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
use crate::guard::{Caller, Door};

/// In the response of a login whose body does not say for whom it was.
#[derive(Clone, Debug)]
pub(crate) struct LoggedIn(pub(crate) String);

/// What the two sides of the door tell each other of one request.
#[derive(Debug, Default)]
struct Witness {
    caller: OnceLock<Caller>,
    /// It has its entries.
    told: AtomicBool,
}

/// Where a request comes from.
pub(crate) struct Origin {
    address: Option<IpAddr>,
    certname: Option<String>,
    uri: Uri,
}

/// The door tells who came, before it says whether he may.
pub(crate) fn met(request: &Request, caller: &Caller) {
    if let Some(witness) = request.extensions().get::<Arc<Witness>>() {
        // There is one door.
        let _ = witness.caller.set(caller.clone());
    }
}

/// Writes an entry for a request that is refused.
pub(crate) async fn watch(
    State((api, route)): State<Door>,
    mut request: Request,
    next: Next,
) -> Response {
    let witness = Arc::new(Witness::default());
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

/// Writes the entries of a request that the door let through.
pub(crate) async fn keep(
    State((api, route)): State<Door>,
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
    let witness = request.extensions().get::<Arc<Witness>>().cloned();
    let intent = api.audit.intent(act).await.map_err(unwritable)?;
    tell(witness.as_ref());
    let (response, outcome) = outcome::of(next.run(request).await).await;
    intent.finish(outcome).await;
    Ok(response)
}

/// Whoever logs in is known only afterwards, so this entry comes after the deed and before the
/// answer: without it nobody learns the token.
async fn login(
    api: Shared,
    route: &'static Route,
    request: Request,
    next: Next,
) -> Result<Response, Failure> {
    let origin = Origin::of(&request);
    let witness = request.extensions().get::<Arc<Witness>>().cloned();
    let (request, bytes) = body::buffered(request, &api).await?;
    let mut act = act(route, &origin, None);
    facts::of_body(&mut act, &bytes);
    act.actor.name = facts::login(&bytes).unwrap_or_default();
    let response = next.run(request).await;
    // Only here is it known for whom.
    if let Some(LoggedIn(login)) = response.extensions().get() {
        act.actor.name.clone_from(login);
    }
    if let Some(outcome) = outcome::refusal(&response) {
        tell(witness.as_ref());
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

/// Writes the entry of a webhook that is about to begin something in these environments. Its handler alone
/// knows whether it may, so it is not written at the door.
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

/// Writes the entry of a read that is about to return stored secrets; if that fails, the read is refused. Other
/// reads have no entry, so the handler, which knows what it answers, writes it.
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

/// What came of a webhook.
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

/// The request has its entries.
fn tell(witness: Option<&Arc<Witness>>) {
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

    /// The address of the client.
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
