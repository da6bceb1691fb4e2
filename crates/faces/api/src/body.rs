//! Reads a request body with limits on size, time and the memory of all requests.
//!
//! Invariants: the memory of a body is reserved until the request is handled; and since a body may
//! arrive slowly, the caller is authenticated again when it has arrived.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use api_types::{ApiError, kinds, strict};
use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::{FromRequest, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use bytes::BytesMut;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::Instant;

use crate::SharedApiContext;
use crate::budget::{BudgetExhausted, BudgetReservation};
use crate::credentials::RequestCredentials;
use crate::defaults::{
    BODY_PROGRESS_BYTES, BODY_PROGRESS_WINDOW, BODY_RETRY_SECONDS, BODY_STEP_BYTES, BODY_TIME,
    BODY_WAIT, DISCARD_BYTES, DISCARD_TIME, SMALL_BODY_BYTES, SMALL_BODY_TIME,
};
use crate::failure::ApiFailure;
use error_causes::chain;

/// A body that is parsed strictly. The content type is ignored: real clients send none, or a wrong
/// one.
pub(crate) struct StrictBody<T>(pub(crate) T);

/// A body that may be missing.
pub(crate) struct OptionalBody<T>(pub(crate) Option<T>);

/// The limits that the guard sets for the body of a request.
#[derive(Clone)]
pub(crate) struct BodyLimits {
    /// Maximum size, from the route.
    pub(crate) max_bytes: usize,
    /// The client whose memory budget is used.
    pub(crate) client: String,
    /// Credentials, checked again when the body has arrived.
    pub(crate) credentials: RequestCredentials,
    /// Reserved memory of the body. The guard holds it too, until the request is handled.
    pub(crate) share: Arc<OnceLock<BudgetReservation>>,
}

impl<T: DeserializeOwned> FromRequest<SharedApiContext> for StrictBody<T> {
    type Rejection = ApiFailure;

    async fn from_request(request: Request, api: &SharedApiContext) -> Result<Self, ApiFailure> {
        let body = read(request, api).await?;
        Ok(Self(strict::decode(&body)?))
    }
}

impl<T: DeserializeOwned> FromRequest<SharedApiContext> for OptionalBody<T> {
    type Rejection = ApiFailure;

    async fn from_request(request: Request, api: &SharedApiContext) -> Result<Self, ApiFailure> {
        let body = read(request, api).await?;
        if body.is_empty() {
            return Ok(Self(None));
        }
        Ok(Self(Some(strict::decode(&body)?)))
    }
}

/// Reads the body of a request; returns both, with the caller authenticated again.
pub(crate) async fn buffer_body(
    request: Request,
    api: &SharedApiContext,
) -> Result<(Request, Bytes), ApiFailure> {
    let (mut parts, body) = request.into_parts();
    let bytes = read_limited(&mut parts, body, api).await?;
    let request = Request::from_parts(parts, Body::from(bytes.clone()));
    Ok((request, bytes))
}

pub(crate) async fn read(request: Request, api: &SharedApiContext) -> Result<Bytes, ApiFailure> {
    let (mut parts, body) = request.into_parts();
    read_limited(&mut parts, body, api).await
}

async fn read_limited(
    parts: &mut Parts,
    body: Body,
    api: &SharedApiContext,
) -> Result<Bytes, ApiFailure> {
    let Some(terms) = parts.extensions.get::<BodyLimits>().cloned() else {
        return Err(too_large(0).into());
    };
    if terms.share.get().is_some() {
        // The body is in memory already.
        return read_from_memory(body, terms.max_bytes).await;
    }
    let bytes = Box::pin(receive_body(parts, body, &terms, api)).await?;
    if let Some(caller) = terms.credentials.check(api).await? {
        parts.extensions.insert(caller);
    }
    Ok(bytes)
}

/// Reads the body from the connection after memory was reserved.
async fn receive_body(
    parts: &Parts,
    mut body: Body,
    terms: &BodyLimits,
    api: &SharedApiContext,
) -> Result<Bytes, ApiFailure> {
    let limit = terms.max_bytes;
    let exact = body.size_hint().exact();
    let announced = announced_bytes(&parts.headers).or(exact.and_then(|n| n.try_into().ok()));
    // A client that expects `100 Continue` has not sent the body yet.
    let sends = !parts.headers.contains_key(header::EXPECT);
    if announced.is_some_and(|bytes| bytes > limit) {
        if sends {
            discard(&mut body).await;
        }
        return Err(too_large(limit).into());
    }
    // A body without a length counts as the largest allowed one.
    let expected = announced.unwrap_or(limit);
    let mut share = match api.bodies.share(&terms.client, expected, BODY_WAIT).await {
        Ok(share) => share,
        Err(exhausted) => {
            if sends {
                discard(&mut body).await;
            }
            return Err(busy_error(exhausted).into());
        }
    };
    let time = match expected <= SMALL_BODY_BYTES {
        true => SMALL_BODY_TIME,
        false => BODY_TIME,
    };
    let collecting = read_growing_body(&mut body, api, &mut share, (expected, limit));
    let collected = tokio::time::timeout(time, Box::pin(collecting)).await;
    // There is one reader at a time.
    _ = terms.share.set(share);
    match collected {
        Ok(Ok(whole)) => Ok(whole),
        Ok(Err(BodyReadError::TooLarge)) => {
            discard(&mut body).await;
            Err(too_large(limit).into())
        }
        Ok(Err(BodyReadError::NoMemory(exhausted))) => {
            discard(&mut body).await;
            Err(busy_error(exhausted).into())
        }
        Ok(Err(BodyReadError::Broken(error))) => Err(broken_body_error(&error)),
        Ok(Err(BodyReadError::Stalled)) => Err(too_slow_error(BODY_PROGRESS_WINDOW)),
        Err(_) => Err(too_slow_error(time)),
    }
}

/// Reason for which a body did not arrive completely.
enum BodyReadError {
    TooLarge,
    NoMemory(BudgetExhausted),
    Broken(axum::Error),
    Stalled,
}

/// Reads a body. Memory is reserved for the bytes received and the next read; and the body has to
/// grow by [`BODY_PROGRESS_BYTES`] within each [`BODY_PROGRESS_WINDOW`].
async fn read_growing_body(
    body: &mut Body,
    api: &SharedApiContext,
    share: &mut BudgetReservation,
    (expected, limit): (usize, usize),
) -> Result<Bytes, BodyReadError> {
    let mut whole = BytesMut::new();
    let mut window_bytes = 0;
    let mut window_end = Instant::now() + BODY_PROGRESS_WINDOW;
    loop {
        let next = (whole.len() + BODY_STEP_BYTES).min(expected);
        let grown = api.bodies.grow(share, expected, next, BODY_WAIT).await;
        grown.map_err(BodyReadError::NoMemory)?;
        let frame = match tokio::time::timeout_at(window_end, body.frame()).await {
            Ok(None) => return Ok(whole.freeze()),
            Ok(Some(frame)) => frame.map_err(BodyReadError::Broken)?,
            Err(_) => return Err(BodyReadError::Stalled),
        };
        let data = frame.data_ref().map_or(&[][..], |data| data);
        if whole.len() + data.len() > limit {
            return Err(BodyReadError::TooLarge);
        }
        whole.extend_from_slice(data);
        if whole.len() >= window_bytes + BODY_PROGRESS_BYTES {
            window_bytes = whole.len();
            window_end = Instant::now() + BODY_PROGRESS_WINDOW;
        }
    }
}

/// Reads a body that is in memory already.
async fn read_from_memory(mut body: Body, limit: usize) -> Result<Bytes, ApiFailure> {
    let whole = Limited::new(&mut body, limit).collect().await;
    match whole {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large(limit).into()),
        Err(error) => {
            let error: Box<dyn std::error::Error> = error;
            Err(broken_body_error(&*error))
        }
    }
}

fn broken_body_error(error: &(dyn std::error::Error + 'static)) -> ApiFailure {
    let msg = format!("the request's body broke off: {}", chain(error));
    ApiError::new(kinds::VALIDATION, msg).into()
}

fn too_slow_error(time: Duration) -> ApiFailure {
    let seconds = time.as_secs();
    let msg = format!("the request's body did not arrive within {seconds} seconds");
    ApiError::new(kinds::REQUEST_TIMEOUT, msg).into()
}

/// Reads and drops the rest of a body, within limits: closing a connection while the client sends
/// resets it, and the client could not read the error.
async fn discard(body: &mut Body) {
    let take = async {
        let mut left = DISCARD_BYTES;
        while let Some(Ok(frame)) = body.frame().await {
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            match left.checked_sub(bytes) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    // The response is sent even after the timeout.
    let _ = tokio::time::timeout(DISCARD_TIME, take).await;
}

fn announced_bytes(headers: &HeaderMap) -> Option<usize> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

fn too_large(limit: usize) -> ApiError {
    let msg = format!("the request's body is larger than {limit} bytes, the limit of this route");
    ApiError::new(kinds::TOO_LARGE, msg).with("max_bytes", json!(limit))
}

fn busy_error(exhausted: BudgetExhausted) -> ApiError {
    let whose = match exhausted {
        BudgetExhausted::ClientLimit => "yours",
        BudgetExhausted::TotalLimit => "others'",
    };
    let msg = format!(
        "the server has no memory left for this request's body: {whose} are still being read; \
         try again in a moment"
    );
    ApiError::new(kinds::UNAVAILABLE, msg).with("retry_after_seconds", json!(BODY_RETRY_SECONDS))
}
