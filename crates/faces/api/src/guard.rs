//! Authentication and authorization: every route is mounted behind the guard, with its policy.
//!
//! Invariants: if a route requires a token, a valid one is checked before a byte of the body is
//! read; the token comes in `X-Authentication`, in `Authorization: Bearer`, or as `?token=`, and is
//! never logged; without a token, a verified client certificate of the allow-list is accepted; and
//! only [`rbac::Rbac::authorize`] decides on permissions.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use api_types::{ApiError, Policy, Route, kinds, routes};
use axum::extract::{ConnectInfo, FromRequestParts, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri, header};
use axum::middleware::Next;
use axum::response::Response;
use https::{ConnectionHandle, PeerCertificate, PeerNetwork};
use pki::CertnamePrivilege;
use rbac::{PermissionDenied, PermissionInstance, RequestedPermission, UserIdentity};

use crate::SharedApiContext;
use crate::audit;
use crate::body::BodyLimits;
use crate::failure::ApiFailure;

/// State of the guard of one route.
pub(crate) type GuardState = (SharedApiContext, &'static Route);

/// The authenticated sender of a request; only on routes whose policy requires authentication.
#[derive(Clone, Debug)]
pub(crate) struct ApiCaller(pub(crate) Arc<UserIdentity>);

/// Credentials and route of a request, kept so that authorization can be checked again later.
#[derive(Clone)]
pub(crate) struct RequestCredentials {
    route: &'static Route,
    presented: Arc<PresentedCredentials>,
}

/// Passes an authorized request to its handler, or refuses it.
pub(crate) async fn guard(
    State((api, route)): State<GuardState>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiFailure> {
    let pass = RequestCredentials {
        route,
        presented: Arc::new(PresentedCredentials::from_request(&request)),
    };
    let caller = pass.caller(&api).await?;
    let terms = BodyLimits {
        max_bytes: route.max_body_bytes,
        client: pass.client_name(caller.as_ref()),
        credentials: pass.clone(),
        share: Arc::default(),
    };
    if let (Some(_), Some(hold)) = (&caller, request.extensions().get::<ConnectionHandle>()) {
        hold.mark_authenticated();
    }
    if let Some(caller) = caller {
        audit::record_caller(&request, &caller);
        pass.authorize(&api, &caller)?;
        request.extensions_mut().insert(caller);
    }
    // Held until the request is handled: the handler's copy of the body takes memory too.
    let _share = Arc::clone(&terms.share);
    request.extensions_mut().insert(terms);
    request.extensions_mut().insert(pass);
    Ok(next.run(request).await)
}

/// True if the server is configured to serve this route without authentication.
fn is_open(api: &SharedApiContext, route: &Route) -> bool {
    api.info.metrics_open && route.operation_id == routes::METRICS.operation_id
}

/// The credentials of a request.
struct PresentedCredentials {
    token: Option<String>,
    peer: Option<PeerCertificate>,
    address: Option<IpAddr>,
}

impl PresentedCredentials {
    fn from_request(request: &Request) -> Self {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
        Self {
            token: token(request.headers(), request.uri()),
            peer: request.extensions().get().cloned(),
            address: peer.map(|ConnectInfo(address)| address.ip()),
        }
    }
}

async fn authenticate(
    api: &SharedApiContext,
    route: &'static Route,
    shown: &PresentedCredentials,
) -> Result<ApiCaller, ApiFailure> {
    let Some(token) = &shown.token else {
        return program(api, route, shown.peer.as_ref()).ok_or_else(|| {
            let msg = "this needs a token: get one with `tutti login` or POST \
                       /rbac-api/v1/auth/token, and send it in the header X-Authentication";
            ApiError::new(kinds::UNAUTHENTICATED, msg).into()
        });
    };
    Ok(ApiCaller(api.access.authenticate(token).await?))
}

/// The program with a certificate of the allow-list, or one that may administer the CA on its
/// routes. TLS has verified the certificate and checked its revocation.
fn program(
    api: &SharedApiContext,
    route: &'static Route,
    peer: Option<&PeerCertificate>,
) -> Option<ApiCaller> {
    let peer = peer?.0.as_ref()?;
    let names = &api.info.privileged_names;
    if names.has_privilege(CertnamePrivilege::Program, &peer.certname) {
        return Some(ApiCaller(api.access.api_user()));
    }
    if is_server_itself(api, &peer.certname) && is_for_local_verbs(route) {
        return Some(ApiCaller(api.access.api_user()));
    }
    crate::certificates::authenticate_administrator(api, route, &peer.certname, &peer.der)
}

/// True for the server's own certificate: its owner is root or the service's user on the server's
/// machine, and could change the server's files as well.
fn is_server_itself(api: &SharedApiContext, certname: &str) -> bool {
    certname == api.fabric.address().common_name()
}

/// Routes of `tutti ca`, `tutti reset-admin-password` and `tutti doctor`.
fn is_for_local_verbs(route: &Route) -> bool {
    crate::certificates::is_ca_route(route)
        || route.operation_id == routes::USER_RESET.operation_id
        || route.operation_id == routes::DOCTOR.operation_id
}

/// The error of the service that the route belongs to.
fn denied_error(route: &Route, denied: PermissionDenied) -> ApiFailure {
    match route.path.starts_with("/rbac-api/") {
        true => crate::rbac::refusal::denied_error(&denied),
        false => denied.into(),
    }
}

/// The token of a request. An empty one counts as none.
pub(crate) fn token(headers: &HeaderMap, uri: &Uri) -> Option<String> {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = || header(header::AUTHORIZATION.as_str())?.strip_prefix("Bearer ");
    let given = header("x-authentication")
        .or_else(bearer)
        .map(str::to_owned);
    let given = given.or_else(|| {
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri).ok()?;
        pairs
            .into_iter()
            .find(|(name, _)| name == "token")
            .map(|(_, token)| token)
    });
    given
        .map(|token| token.trim().to_owned())
        .filter(|token| !token.is_empty())
}

impl RequestCredentials {
    /// Authenticates again and returns the caller; `None` on a route without authentication.
    pub(crate) async fn check(
        &self,
        api: &SharedApiContext,
    ) -> Result<Option<ApiCaller>, ApiFailure> {
        let caller = self.caller(api).await?;
        if let Some(caller) = &caller {
            self.authorize(api, caller)?;
        }
        Ok(caller)
    }

    /// The client whose memory budget the request uses.
    pub(crate) fn client_name(&self, caller: Option<&ApiCaller>) -> String {
        let PresentedCredentials {
            token,
            peer,
            address,
        } = &*self.presented;
        let certname = peer.as_ref().and_then(PeerCertificate::certname);
        match (caller, token, certname) {
            (Some(caller), Some(_), _) => format!("user {}", caller.0.user_id),
            (_, _, Some(certname)) => format!("program {certname}"),
            _ => address.map_or_else(String::new, |address| {
                format!("network {}", PeerNetwork::from(address))
            }),
        }
    }

    async fn caller(&self, api: &SharedApiContext) -> Result<Option<ApiCaller>, ApiFailure> {
        let asked = match self.route.policy {
            Policy::Public => false,
            Policy::Authenticated => !is_open(api, self.route),
            Policy::Permission { .. } => true,
            Policy::Broker => {
                crate::remote_brokers::admit_broker(api, self.presented.peer.as_ref())?;
                false
            }
            Policy::Follower => {
                crate::file_sync::admit_follower(api, self.presented.peer.as_ref())?;
                false
            }
        };
        match asked {
            true => Ok(Some(authenticate(api, self.route, &self.presented).await?)),
            false => Ok(None),
        }
    }

    fn authorize(&self, api: &SharedApiContext, caller: &ApiCaller) -> Result<(), ApiFailure> {
        let Policy::Permission {
            object_type,
            action,
        } = self.route.policy
        else {
            return Ok(());
        };
        let permission = RequestedPermission {
            object_type,
            action,
            instance: PermissionInstance::Any,
        };
        let allowed = api.access.authorize(&caller.0, permission);
        allowed.map_err(|denied| denied_error(self.route, denied))
    }
}

impl FromRequestParts<SharedApiContext> for RequestCredentials {
    type Rejection = ApiFailure;

    async fn from_request_parts(
        parts: &mut Parts,
        _: &SharedApiContext,
    ) -> Result<Self, ApiFailure> {
        let pass = parts.extensions.get::<Self>().cloned();
        pass.ok_or_else(|| ApiError::new(kinds::UNAUTHENTICATED, "no door was passed").into())
    }
}

impl ApiCaller {
    /// Refuses a caller without this permission.
    pub(crate) fn demand(
        &self,
        api: &SharedApiContext,
        object_type: &str,
        action: &str,
        name: &str,
    ) -> Result<(), ApiFailure> {
        let permission = RequestedPermission {
            object_type,
            action,
            instance: PermissionInstance::Named(name),
        };
        Ok(api.access.authorize(&self.0, permission)?)
    }
}

impl FromRequestParts<SharedApiContext> for ApiCaller {
    type Rejection = ApiFailure;

    async fn from_request_parts(
        parts: &mut Parts,
        _: &SharedApiContext,
    ) -> Result<Self, ApiFailure> {
        let caller = parts.extensions.get::<Self>().cloned();
        // A handler that needs a caller, on a route without authentication: always refused.
        caller.ok_or_else(|| {
            ApiError::new(kinds::UNAUTHENTICATED, "this route knows no caller").into()
        })
    }
}
