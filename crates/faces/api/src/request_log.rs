//! Logs every request, and turns a panic into a response.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use api_types::{ApiError, kinds};
use axum::extract::{Request, State};
use axum::http::header::{self, Entry};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use telemetry::Tracer;

use crate::defaults::LOGGED_PATH_CHARS;
use crate::failure::ApiFailure;
use crate::traces;

/// Prefix of a path that contains a token, which must not be logged.
const TOKEN_PATH: &str = "/rbac-api/v2/tokens/";

/// Logs method, path and status; the query is left out, since it may contain a token. A panic in a
/// handler becomes a 500.
pub(crate) async fn log_request(
    State(tracer): State<Tracer>,
    request: Request,
    next: Next,
) -> Response {
    let method = request.method().clone();
    let path = path_for_log(request.uri().path()).to_owned();
    let started = Instant::now();
    let traced = traces::start_request_span(&tracer, &request);
    let handling = AssertUnwindSafe(next.run(request)).catch_unwind();
    let handled = match &traced {
        Some(traced) => Box::pin(telemetry::run_within(traced.context(), handling)).await,
        None => handling.await,
    };
    let mut response = handled.unwrap_or_else(|_| {
        // The panic hook has logged the location and message.
        tracing::error!(%method, path, "a request handler panicked");
        let msg = "the server made a mistake; its log has the place";
        ApiFailure(ApiError::new(kinds::UNKNOWN, msg)).into_response()
    });
    set_security_headers(response.headers_mut());
    if let Some(traced) = traced {
        traces::end_request_span(&tracer, traced, response.status());
    }
    let (status, duration_ms) = (response.status().as_u16(), started.elapsed().as_millis());
    // Clients poll with GET every second or so.
    if method == Method::GET && status < 500 {
        tracing::debug!(%method, path, status, duration_ms, "request");
    } else {
        tracing::info!(%method, path, status, duration_ms, "request");
    }
    response
}

/// Sets headers so that a browser runs no script of a response, and does not frame it, cache it or
/// send its URL as referrer: output of tasks and facts come from machines that may be hostile.
fn set_security_headers(headers: &mut HeaderMap) {
    for (name, value) in [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        // A handler's own header takes precedence.
        if let Entry::Vacant(place) = headers.entry(name) {
            place.insert(HeaderValue::from_static(value));
        }
    }
}

/// A path for the log, without the token of one route, and shortened.
fn path_for_log(path: &str) -> &str {
    match path.strip_prefix(TOKEN_PATH) {
        Some(_) => TOKEN_PATH,
        None => clip_path(path),
    }
}

/// The start of a path: a client must not be able to fill the log.
fn clip_path(path: &str) -> &str {
    match path.char_indices().nth(LOGGED_PATH_CHARS) {
        Some((end, _)) => &path[..end],
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_in_a_path_is_left_out() {
        assert_eq!(path_for_log("/rbac-api/v2/tokens/secret"), TOKEN_PATH);
        assert_eq!(path_for_log("/rbac-api/v2/tokens"), "/rbac-api/v2/tokens");
    }

    #[test]
    fn a_long_path_is_clipped_between_characters() {
        assert_eq!(clip_path("/orchestrator"), "/orchestrator");
        let longest = "\u{e9}".repeat(LOGGED_PATH_CHARS);
        assert_eq!(clip_path(&longest), longest);
        assert_eq!(clip_path(&format!("{longest}x")), longest);
    }
}
