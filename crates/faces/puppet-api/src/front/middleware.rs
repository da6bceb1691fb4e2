//! Decides which requests are passed to the puppetserver before a route sees them: [`pass`].

use axum::extract::{FromRequestParts as _, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use environments::EnvironmentName;

use super::{OutgoingBody, OutgoingHead, PuppetserverFront};
use crate::defaults::{FRONT_BODY_BYTES, MAX_BODY_BYTES};
use crate::failure::PuppetApiFailure;
use crate::peer::PuppetApiCaller;
use crate::query::QueryParams;

/// State of the middleware.
#[derive(Debug, Clone)]
pub(crate) struct FrontRoutes {
    pub(crate) front: PuppetserverFront,
    /// True if the puppetserver is the CA.
    pub(crate) passes_ca: bool,
}

/// The server of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RouteServer {
    /// This server; its handlers may pass the request on.
    This,
    /// The compiler of the node.
    Compiler,
    /// The compiler of the node, or the puppetserver if this one does not have the environment.
    CompilerWithFiles,
    Puppetserver,
}

/// Passes the request to the puppetserver, or to the routes of this server.
pub(crate) async fn pass(
    State(routes): State<FrontRoutes>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let caller = match PuppetApiCaller::from_request_parts(&mut parts, &()).await {
        Ok(caller) => caller,
        Err(never) => match never {},
    };
    let params = QueryParams::from_request_parts(&mut parts, &()).await;
    let request = Request::from_parts(parts, body);
    let server = route_server(&request, params.as_ref().ok(), routes.passes_ca);
    // an environment that cannot be read is an error of the route
    let environment = params.ok().and_then(|params| params.environment().ok());
    if !routes
        .is_passed(server, &caller, environment.as_ref())
        .await
    {
        return next.run(request).await;
    }
    let passed = routes.forward(&caller, request).await;
    passed.unwrap_or_else(PuppetApiFailure::into_response)
}

impl FrontRoutes {
    async fn is_passed(
        &self,
        server: RouteServer,
        caller: &PuppetApiCaller,
        environment: Option<&EnvironmentName>,
    ) -> bool {
        let compiles = async || self.front.compiles_for(caller, environment).await;
        match server {
            RouteServer::This => false,
            RouteServer::Puppetserver => true,
            RouteServer::Compiler => compiles().await,
            // unknown callers learn nothing about environments
            RouteServer::CompilerWithFiles if caller.certname().is_none() => false,
            RouteServer::CompilerWithFiles => match environment {
                _ if compiles().await => true,
                Some(environment) => !self.front.has_environment(environment).await,
                None => false,
            },
        }
    }

    async fn forward(
        &self,
        caller: &PuppetApiCaller,
        request: Request,
    ) -> Result<Response, PuppetApiFailure> {
        let is_of_ca = request.uri().path().starts_with("/puppet-ca/");
        if !is_of_ca {
            caller.require_certname()?;
        }
        let head = OutgoingHead::of(&request);
        let body = OutgoingBody::Streamed {
            body: request.into_body(),
            limit: match is_of_ca {
                true => MAX_BODY_BYTES,
                false => FRONT_BODY_BYTES,
            },
        };
        // a request without a body must not announce one
        let body = match head.method {
            Method::GET | Method::HEAD => OutgoingBody::Whole(axum::body::Bytes::new()),
            _ => body,
        };
        self.front.forward(caller, &head, body).await
    }
}

fn route_server(request: &Request, params: Option<&QueryParams>, passes_ca: bool) -> RouteServer {
    let path = request.uri().path();
    if path.starts_with("/puppet-ca/") {
        return match passes_ca {
            true => RouteServer::Puppetserver,
            false => RouteServer::This,
        };
    }
    if path.starts_with("/puppet/v4/") {
        return RouteServer::Puppetserver;
    }
    let Some(route) = path.strip_prefix("/puppet/v3/") else {
        return RouteServer::This;
    };
    let (kind, rest) = route.split_once('/').unwrap_or((route, ""));
    match kind {
        "catalog" | "facts" | "report" => RouteServer::This,
        "node" | "file_bucket_file" | "environments" => RouteServer::Compiler,
        "tasks" => RouteServer::CompilerWithFiles,
        // contents that a job or a catalog of this server names by their hash
        "file_content" if params.is_some_and(|it| it.all("sha256").next().is_some()) => {
            RouteServer::This
        }
        "static_file_content" if rest.starts_with("by-hash/") => RouteServer::This,
        "static_file_content" | "file_content" | "file_metadata" | "file_metadatas" => {
            RouteServer::CompilerWithFiles
        }
        _ => RouteServer::Puppetserver,
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn each_route_has_its_server() {
        use RouteServer::{Compiler, CompilerWithFiles, Puppetserver, This};
        for (path, expected) in [
            ("/status/v1/simple", This),
            ("/puppet-admin-api/v1/environment-cache", This),
            ("/puppet/v3/catalog/a?environment=x", This),
            ("/puppet/v3/report/a", This),
            ("/puppet/v3/node/a?environment=x", Compiler),
            (
                "/puppet/v3/file_metadatas/plugins?environment=x",
                CompilerWithFiles,
            ),
            (
                "/puppet/v3/file_content/tasks/a/b?environment=x",
                CompilerWithFiles,
            ),
            ("/puppet/v3/file_content/tasks/a/b?sha256=x", This),
            ("/puppet/v3/static_file_content/by-hash/sha256/0", This),
            (
                "/puppet/v3/static_file_content/modules/a/files/b",
                CompilerWithFiles,
            ),
            ("/puppet/v3/environment_classes?environment=x", Puppetserver),
            ("/puppet/v3/%63atalog/a", Puppetserver),
            ("/puppet/v3/", Puppetserver),
            ("/puppet/v4/catalog", Puppetserver),
        ] {
            let request = Request::get(path).body(Body::empty()).unwrap();
            let params = request.uri().query().unwrap_or_default();
            let params = QueryParams::of_form(params.as_bytes());
            for (passes_ca, of_ca) in [(true, Puppetserver), (false, This)] {
                let server = route_server(&request, Some(&params), passes_ca);
                assert_eq!(server, expected, "{path}");
                let ca = Request::get("/puppet-ca/v1/certificate/ca").body(Body::empty());
                assert_eq!(route_server(&ca.unwrap(), None, passes_ca), of_ca);
            }
        }
    }
}
