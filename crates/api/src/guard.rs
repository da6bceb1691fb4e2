//! The one door: every route is mounted behind it, with its policy.
//!
//! The rules: who is asked for a token shows a valid one before a byte of the body is read; the
//! token comes in `X-Authentication`, in `Authorization: Bearer`, or as `?token=`, and is never
//! logged; which permissions an identity has, [`access::Access::authorize`] alone says.

use access::{Identity, Instance, Permission};
use api_types::{ApiError, Policy, Route, kinds, routes};
use axum::extract::{FromRequestParts, Query, Request, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use https::PeerCertificate;

use crate::Shared;
use crate::body::MaxBody;
use crate::failure::Failure;

/// What the door of one route knows.
pub(crate) type Door = (Shared, &'static Route);

/// Who sent the request; only behind a policy that asks for a token.
#[derive(Clone, Debug)]
pub(crate) struct Caller(pub(crate) Identity);

/// Lets a request through to its handler, or not.
pub(crate) async fn guard(
    State((api, route)): State<Door>,
    mut request: Request,
    next: Next,
) -> Result<Response, Failure> {
    match route.policy {
        Policy::Public => {}
        Policy::Authenticated if is_open(&api, route) => {}
        Policy::Authenticated => {
            let caller = authenticate(&api, token(&request)).await?;
            request.extensions_mut().insert(caller);
        }
        Policy::Permission {
            object_type,
            action,
        } => {
            let caller = authenticate(&api, token(&request)).await?;
            let permission = Permission {
                object_type,
                action,
                instance: Instance::Any,
            };
            api.access.authorize(&caller.0, permission)?;
            request.extensions_mut().insert(caller);
        }
        Policy::Broker => {
            crate::controller::admit(&api, request.extensions().get::<PeerCertificate>())?;
        }
    }
    request
        .extensions_mut()
        .insert(MaxBody(route.max_body_bytes));
    Ok(next.run(request).await)
}

/// Whether the server is configured to show this route to everybody.
fn is_open(api: &Shared, route: &Route) -> bool {
    api.info.metrics_open && route.operation_id == routes::METRICS.operation_id
}

async fn authenticate(api: &Shared, token: Option<String>) -> Result<Caller, Failure> {
    let token = token.ok_or_else(|| {
        let msg = "this needs a token: get one with `tutti login` or POST \
                   /rbac-api/v1/auth/token, and send it in the header X-Authentication";
        ApiError::new(kinds::UNAUTHENTICATED, msg)
    })?;
    Ok(Caller(api.access.authenticate(&token).await?))
}

/// The token of a request. An empty one is none.
fn token(request: &Request) -> Option<String> {
    let (headers, uri) = (request.headers(), request.uri());
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

impl Caller {
    /// Whether the caller may do `action` on the instance `name`.
    pub(crate) fn may(&self, api: &Shared, object_type: &str, action: &str, name: &str) -> bool {
        self.demand(api, object_type, action, name).is_ok()
    }

    /// Refuses a caller who may not.
    pub(crate) fn demand(
        &self,
        api: &Shared,
        object_type: &str,
        action: &str,
        name: &str,
    ) -> Result<(), Failure> {
        let permission = Permission {
            object_type,
            action,
            instance: Instance::Named(name),
        };
        Ok(api.access.authorize(&self.0, permission)?)
    }
}

impl FromRequestParts<Shared> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Failure> {
        let caller = parts.extensions.get::<Self>().cloned();
        // A handler that wants a caller on a route without one: refused, never let through.
        caller.ok_or_else(|| {
            ApiError::new(kinds::UNAUTHENTICATED, "this route knows no caller").into()
        })
    }
}
