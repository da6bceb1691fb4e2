//! Mounts handlers on routes, each behind its guard.
//!
//! Invariant: a handler gets a path only from a [`Route`], whose type includes a policy; and every
//! route of the list has a handler, or the router cannot be built.

use api_types::{ApiError, Method, Route, Trail, kinds, routes};
use axum::Router;
use axum::handler::Handler;
use axum::http::Uri;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, on};
use serde_json::json;

use crate::SharedApiContext;
use crate::audit;
use crate::failure::ApiFailure;
use crate::guard::guard;

/// Builder of the router.
pub(crate) struct RouteMounter {
    api: SharedApiContext,
    router: Router<SharedApiContext>,
    mounted: Vec<&'static str>,
}

impl RouteMounter {
    pub(crate) fn new(api: SharedApiContext) -> Self {
        Self {
            api,
            router: Router::new(),
            mounted: Vec::new(),
        }
    }

    /// Mounts `handler` on `route`.
    pub(crate) fn mount<H, T>(mut self, route: &'static Route, handler: H) -> Self
    where
        H: Handler<T, SharedApiContext>,
        T: 'static,
    {
        let method = match route.method {
            Method::Get => MethodFilter::GET,
            Method::Post => MethodFilter::POST,
            Method::Put => MethodFilter::PUT,
            Method::Delete => MethodFilter::DELETE,
        };
        let state = (self.api.clone(), route);
        let mut served = on(method, handler);
        if route.trail != Trail::Nothing {
            served = served.route_layer(from_fn_with_state(state.clone(), audit::audit_request));
        }
        let served = served
            .route_layer(from_fn_with_state(state.clone(), guard))
            .route_layer(from_fn_with_state(state, audit::audit_refusals));
        self.router = self.router.route(route.path, served);
        self.mounted.push(route.operation_id);
        self
    }

    /// The router. Panics if a route of the list has no handler: a mistake in this crate that any
    /// test finds.
    pub(crate) fn finish(self) -> Router {
        let missing = routes::ALL
            .iter()
            .find(|route| !self.mounted.contains(&route.operation_id));
        assert!(missing.is_none(), "{missing:?} has no handler");
        self.router
            .method_not_allowed_fallback(method_not_allowed_error)
            .fallback(not_found)
            .with_state(self.api)
    }
}

async fn not_found(uri: Uri) -> ApiFailure {
    not_found_error("GET /orchestrator/v1/swagger.json", &uri)
}

/// Answers paths that do not exist on a follower's listener.
pub(crate) async fn not_found_on_follower(uri: Uri) -> ApiFailure {
    not_found_error("GET /status/v1/services", &uri)
}

fn not_found_error(all: &str, uri: &Uri) -> ApiFailure {
    let path: String = uri.path().chars().take(200).collect();
    let msg = format!("there is nothing at {path}; {all} lists all");
    ApiError::new(kinds::NOT_FOUND, msg)
        .with("path", json!(path))
        .into()
}

pub(crate) async fn method_not_allowed_error(method: axum::http::Method, uri: Uri) -> ApiFailure {
    let path: String = uri.path().chars().take(200).collect();
    let msg = format!("{path} does not take {method}");
    ApiError::new(kinds::METHOD_NOT_ALLOWED, msg)
        .with("path", json!(path))
        .into()
}
