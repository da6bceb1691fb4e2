//! Authentication and authorization of a request, now and again later: [`RequestCredentials`].
//!
//! Invariants: the token comes in `X-Authentication`, in `Authorization: Bearer`, or as `?token=`,
//! and is never logged; without a token, a verified client certificate of the allow-list is
//! accepted; and only [`rbac::Rbac::authorize`] decides on permissions.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use api_types::{ApiError, Policy, Route, kinds, routes};
use axum::extract::{ConnectInfo, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri, header};
use https::{PeerCertificate, PeerNetwork};
use pki::CertnamePrivilege;
use rbac::{PermissionDenied, PermissionInstance, RequestedPermission};

use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::certificates::{authenticate_administrator, is_ca_route};
use crate::failure::ApiFailure;
use crate::file_sync::admit_follower;
use crate::rbac::refusal;
use crate::remote_brokers::admit_broker;

/// Credentials and route of a request, kept so that authorization can be checked again later.
#[derive(Clone)]
pub(crate) struct RequestCredentials {
    route: &'static Route,
    presented: Arc<PresentedCredentials>,
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
    authenticate_administrator(api, route, &peer.certname, &peer.der)
}

/// True for the server's own certificate: its owner is root or the service's user on the server's
/// machine, and could change the server's files as well.
fn is_server_itself(api: &SharedApiContext, certname: &str) -> bool {
    certname == api.fabric.address().common_name()
}

/// Routes of `tutti ca`, `tutti reset-admin-password` and `tutti doctor`.
fn is_for_local_verbs(route: &Route) -> bool {
    is_ca_route(route)
        || route.operation_id == routes::USER_RESET.operation_id
        || route.operation_id == routes::DOCTOR.operation_id
}

/// The error of the service that the route belongs to.
fn denied_error(route: &Route, denied: PermissionDenied) -> ApiFailure {
    match route.path.starts_with("/rbac-api/") {
        true => refusal::denied_error(&denied),
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
    pub(crate) fn new(route: &'static Route, request: &Request) -> Self {
        Self {
            route,
            presented: Arc::new(PresentedCredentials::from_request(request)),
        }
    }

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

    /// The client whose budgets the request uses.
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

    /// Authenticates; returns `None` on a route without authentication.
    pub(crate) async fn caller(
        &self,
        api: &SharedApiContext,
    ) -> Result<Option<ApiCaller>, ApiFailure> {
        let asked = match self.route.policy {
            Policy::Public => false,
            Policy::Authenticated => !is_open(api, self.route),
            Policy::Permission { .. } => true,
            Policy::Broker => {
                admit_broker(api, self.presented.peer.as_ref())?;
                false
            }
            Policy::Follower => {
                admit_follower(api, self.presented.peer.as_ref())?;
                false
            }
        };
        match asked {
            true => Ok(Some(authenticate(api, self.route, &self.presented).await?)),
            false => Ok(None),
        }
    }

    /// Refuses a caller without the permission that the route requires.
    pub(crate) fn authorize(
        &self,
        api: &SharedApiContext,
        caller: &ApiCaller,
    ) -> Result<(), ApiFailure> {
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
        pass.ok_or_else(|| {
            ApiError::new(kinds::UNAUTHENTICATED, "the request was not authenticated").into()
        })
    }
}
