//! A request in the traces: [`begin`], [`end`].
//!
//! The rules: of a request only its method, the template of its route and its status are told,
//! never a path, a query, a header or a body; and what is only asked for is traced when the client
//! has a trace that it belongs to, since clients poll.

use std::time::SystemTime;

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, Method, StatusCode};
use telemetry::{Begun, Context, SpanKind, Tracer};

/// The header of W3C Trace Context.
const TRACEPARENT: &str = "traceparent";

/// A request that is traced.
pub(crate) struct Traced {
    begun: Begun,
    method: Method,
    route: String,
}

pub(crate) fn begin(tracer: &Tracer, request: &Request) -> Option<Traced> {
    if !tracer.is_on() {
        return None;
    }
    let parent = parent(request.headers());
    if parent.is_none() && request.method() == Method::GET {
        return None;
    }
    // A path that no route has is the client's own text.
    let route = request.extensions().get::<MatchedPath>()?;
    Some(Traced {
        begun: tracer.enter(parent)?,
        method: request.method().clone(),
        route: route.as_str().to_owned(),
    })
}

/// The request was answered. One without a valid token leaves no span: anybody can send it.
pub(crate) fn end(tracer: &Tracer, traced: Traced, status: StatusCode) {
    if status == StatusCode::UNAUTHORIZED {
        return;
    }
    let Traced {
        begun,
        method,
        route,
    } = traced;
    let mut span = begun.ended("", SystemTime::now());
    span.name = format!("{method} {route}").into();
    span.kind = SpanKind::Server;
    span.parent_is_remote = span.parent.is_some();
    span.failed = status.is_server_error();
    let span = span
        .with("http.request.method", method.as_str())
        .with("http.route", route)
        .with("http.response.status_code", status.as_u16());
    tracer.take(span);
}

impl Traced {
    pub(crate) fn context(&self) -> Context {
        self.begun.context
    }
}

/// Whose part the request is; nobody's where the header is not one, or is there twice.
fn parent(headers: &HeaderMap) -> Option<Context> {
    let mut values = headers.get_all(TRACEPARENT).iter();
    match (values.next(), values.next()) {
        (Some(only), None) => only.to_str().ok()?.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn one_good_header_is_a_parent_and_nothing_else_is() {
        let mut headers = HeaderMap::new();
        assert_eq!(parent(&headers), None);
        headers.append(TRACEPARENT, HeaderValue::from_static(GOOD));
        assert_eq!(
            parent(&headers).map(|parent| parent.to_string()),
            Some(GOOD.to_owned())
        );
        headers.append(TRACEPARENT, HeaderValue::from_static(GOOD));
        assert_eq!(parent(&headers), None, "two are none");
        headers.insert(TRACEPARENT, HeaderValue::from_bytes(b"00-\xff").unwrap());
        assert_eq!(parent(&headers), None);
    }
}
