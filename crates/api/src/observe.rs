//! Around every request: one line in the log, and an answer even to a bug.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use api_types::{ApiError, kinds};
use axum::extract::Request;
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;

use crate::defaults::LOGGED_PATH_CHARS;
use crate::failure::Failure;

/// Logs method, path and outcome; the query is left out, since it may have a token. A panic in a
/// handler becomes a 500.
pub(crate) async fn observe(request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let path = clipped(request.uri().path()).to_owned();
    let started = Instant::now();
    let handled = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let response = handled.unwrap_or_else(|_| {
        // The panic hook has written where and why.
        tracing::error!(%method, path, "a request handler panicked");
        let msg = "the server made a mistake; its log has the place";
        Failure(ApiError::new(kinds::UNKNOWN, msg)).into_response()
    });
    let (status, duration_ms) = (response.status().as_u16(), started.elapsed().as_millis());
    // Clients poll with GET every second or so.
    if method == Method::GET && status < 500 {
        tracing::debug!(%method, path, status, duration_ms, "request");
    } else {
        tracing::info!(%method, path, status, duration_ms, "request");
    }
    response
}

/// The start of a path: the log is not a client's to fill.
fn clipped(path: &str) -> &str {
    match path.char_indices().nth(LOGGED_PATH_CHARS) {
        Some((end, _)) => &path[..end],
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_is_clipped_between_characters() {
        assert_eq!(clipped("/orchestrator"), "/orchestrator");
        let longest = "\u{e9}".repeat(LOGGED_PATH_CHARS);
        assert_eq!(clipped(&longest), longest);
        assert_eq!(clipped(&format!("{longest}x")), longest);
    }
}
