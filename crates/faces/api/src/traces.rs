//! Spans of requests: [`start_request_span`], [`end_request_span`].
//!
//! Invariants: of a request only its method, the template of its route and its status are exported,
//! never a path, a query, a header or a body; and a read is traced only if the client sends a trace
//! context, since clients poll.

use std::time::SystemTime;

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, Method, StatusCode};
use telemetry::{SpanKind, StartedSpan, TraceContext, Tracer};

/// The header of W3C Trace Context.
const TRACEPARENT: &str = "traceparent";

/// A traced request.
pub(crate) struct RequestSpan {
    span: StartedSpan,
    method: Method,
    route: String,
}

pub(crate) fn start_request_span(tracer: &Tracer, request: &Request) -> Option<RequestSpan> {
    if !tracer.is_on() {
        return None;
    }
    let parent = parent(request.headers());
    if parent.is_none() && request.method() == Method::GET {
        return None;
    }
    // A path without a route is arbitrary text of the client.
    let route = request.extensions().get::<MatchedPath>()?;
    Some(RequestSpan {
        span: tracer.begin_incoming(parent)?,
        method: request.method().clone(),
        route: route.as_str().to_owned(),
    })
}

/// Ends the span. A request without a valid token is not traced, because any client can send one.
pub(crate) fn end_request_span(tracer: &Tracer, traced: RequestSpan, status: StatusCode) {
    if status == StatusCode::UNAUTHORIZED {
        return;
    }
    let RequestSpan {
        span: begun,
        method,
        route,
    } = traced;
    let mut span = begun.finish("", SystemTime::now());
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

impl RequestSpan {
    pub(crate) fn context(&self) -> TraceContext {
        self.span.context
    }
}

/// The parent span of the request; `None` if the header is invalid or repeated.
fn parent(headers: &HeaderMap) -> Option<TraceContext> {
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
