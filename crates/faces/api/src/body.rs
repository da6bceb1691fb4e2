//! Reading a request body: bounded in size, time and, over all requests, in memory.
//!
//! The rules: the memory of a body is counted until the request is handled; and a body may take
//! its time, so who sent it is asked for again when it is there.

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

use crate::Shared;
use crate::budget::{Exhausted, Share};
use crate::defaults::{
    BODY_PROGRESS_BYTES, BODY_PROGRESS_WINDOW, BODY_RETRY_SECONDS, BODY_STEP_BYTES, BODY_TIME,
    BODY_WAIT, DISCARD_BYTES, DISCARD_TIME, SMALL_BODY_BYTES, SMALL_BODY_TIME,
};
use crate::failure::Failure;
use crate::guard::Pass;
use error_causes::chain;

/// A body that was read strictly. The content type does not matter: real clients send none, or
/// one that is wrong.
pub(crate) struct Strict<T>(pub(crate) T);

/// A body that may be absent.
pub(crate) struct Optional<T>(pub(crate) Option<T>);

/// What the door says about the body of a request.
#[derive(Clone)]
pub(crate) struct Terms {
    /// How large it may be; from the route.
    pub(crate) max_bytes: usize,
    /// Whose memory it takes.
    pub(crate) who: String,
    /// Asked again when the body is there.
    pub(crate) pass: Pass,
    /// The memory of the body. The door has it too, until the request is handled.
    pub(crate) share: Arc<OnceLock<Share>>,
}

impl<T: DeserializeOwned> FromRequest<Shared> for Strict<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, api: &Shared) -> Result<Self, Failure> {
        let body = read(request, api).await?;
        Ok(Self(strict::decode(&body)?))
    }
}

impl<T: DeserializeOwned> FromRequest<Shared> for Optional<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, api: &Shared) -> Result<Self, Failure> {
        let body = read(request, api).await?;
        if body.is_empty() {
            return Ok(Self(None));
        }
        Ok(Self(Some(strict::decode(&body)?)))
    }
}

/// The request with its body read already, and the body. Its caller is as he is now.
pub(crate) async fn buffered(request: Request, api: &Shared) -> Result<(Request, Bytes), Failure> {
    let (mut parts, body) = request.into_parts();
    let bytes = take(&mut parts, body, api).await?;
    let request = Request::from_parts(parts, Body::from(bytes.clone()));
    Ok((request, bytes))
}

pub(crate) async fn read(request: Request, api: &Shared) -> Result<Bytes, Failure> {
    let (mut parts, body) = request.into_parts();
    take(&mut parts, body, api).await
}

async fn take(parts: &mut Parts, body: Body, api: &Shared) -> Result<Bytes, Failure> {
    let Some(terms) = parts.extensions.get::<Terms>().cloned() else {
        return Err(too_large(0).into());
    };
    if terms.share.get().is_some() {
        // It is in memory already.
        return in_memory(body, terms.max_bytes).await;
    }
    let bytes = Box::pin(received(parts, body, &terms, api)).await?;
    if let Some(caller) = terms.pass.check(api).await? {
        parts.extensions.insert(caller);
    }
    Ok(bytes)
}

/// Takes the body from the connection when there is memory for it.
async fn received(
    parts: &Parts,
    mut body: Body,
    terms: &Terms,
    api: &Shared,
) -> Result<Bytes, Failure> {
    let limit = terms.max_bytes;
    let exact = body.size_hint().exact();
    let announced = announced_bytes(&parts.headers).or(exact.and_then(|n| n.try_into().ok()));
    // Who asks before sending has sent nothing yet.
    let sends = !parts.headers.contains_key(header::EXPECT);
    if announced.is_some_and(|bytes| bytes > limit) {
        if sends {
            discard(&mut body).await;
        }
        return Err(too_large(limit).into());
    }
    // Who does not say how much comes may send as much as is allowed.
    let expected = announced.unwrap_or(limit);
    let mut share = match api.bodies.share(&terms.who, expected, BODY_WAIT).await {
        Ok(share) => share,
        Err(exhausted) => {
            if sends {
                discard(&mut body).await;
            }
            return Err(busy(exhausted).into());
        }
    };
    let time = match expected <= SMALL_BODY_BYTES {
        true => SMALL_BODY_TIME,
        false => BODY_TIME,
    };
    let collecting = collect(&mut body, api, &mut share, (expected, limit));
    let collected = tokio::time::timeout(time, Box::pin(collecting)).await;
    // There is one reader at a time.
    _ = terms.share.set(share);
    match collected {
        Ok(Ok(whole)) => Ok(whole),
        Ok(Err(NotCollected::TooLarge)) => {
            discard(&mut body).await;
            Err(too_large(limit).into())
        }
        Ok(Err(NotCollected::NoMemory(exhausted))) => {
            discard(&mut body).await;
            Err(busy(exhausted).into())
        }
        Ok(Err(NotCollected::Broken(error))) => Err(broken(&error)),
        Ok(Err(NotCollected::Stalled)) => Err(too_slow(BODY_PROGRESS_WINDOW)),
        Err(_) => Err(too_slow(time)),
    }
}

/// Reason for which a body did not arrive whole.
enum NotCollected {
    TooLarge,
    NoMemory(Exhausted),
    Broken(axum::Error),
    Stalled,
}

/// Reads a body. Memory is taken for what has arrived and the next read; and the body has to grow
/// by [`BODY_PROGRESS_BYTES`] within each [`BODY_PROGRESS_WINDOW`].
async fn collect(
    body: &mut Body,
    api: &Shared,
    share: &mut Share,
    (expected, limit): (usize, usize),
) -> Result<Bytes, NotCollected> {
    let mut whole = BytesMut::new();
    let mut window_bytes = 0;
    let mut window_end = Instant::now() + BODY_PROGRESS_WINDOW;
    loop {
        let next = (whole.len() + BODY_STEP_BYTES).min(expected);
        let grown = api.bodies.grow(share, expected, next, BODY_WAIT).await;
        grown.map_err(NotCollected::NoMemory)?;
        let frame = match tokio::time::timeout_at(window_end, body.frame()).await {
            Ok(None) => return Ok(whole.freeze()),
            Ok(Some(frame)) => frame.map_err(NotCollected::Broken)?,
            Err(_) => return Err(NotCollected::Stalled),
        };
        let data = frame.data_ref().map_or(&[][..], |data| data);
        if whole.len() + data.len() > limit {
            return Err(NotCollected::TooLarge);
        }
        whole.extend_from_slice(data);
        if whole.len() >= window_bytes + BODY_PROGRESS_BYTES {
            window_bytes = whole.len();
            window_end = Instant::now() + BODY_PROGRESS_WINDOW;
        }
    }
}

/// A body that is in memory already.
async fn in_memory(mut body: Body, limit: usize) -> Result<Bytes, Failure> {
    let whole = Limited::new(&mut body, limit).collect().await;
    match whole {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large(limit).into()),
        Err(error) => {
            let error: Box<dyn std::error::Error> = error;
            Err(broken(&*error))
        }
    }
}

fn broken(error: &(dyn std::error::Error + 'static)) -> Failure {
    let msg = format!("the request's body broke off: {}", chain(error));
    ApiError::new(kinds::VALIDATION, msg).into()
}

fn too_slow(time: Duration) -> Failure {
    let seconds = time.as_secs();
    let msg = format!("the request's body did not arrive within {seconds} seconds");
    ApiError::new(kinds::REQUEST_TIMEOUT, msg).into()
}

/// Takes what a client still sends, within bounds: a connection that is closed on a client that
/// writes is reset, and the client never reads why.
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
    // When the time is over the answer goes out all the same.
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

fn busy(exhausted: Exhausted) -> ApiError {
    let whose = match exhausted {
        Exhausted::Own => "yours",
        Exhausted::All => "others'",
    };
    let msg = format!(
        "the server has no memory left for this request's body: {whose} are still being read; \
         try again in a moment"
    );
    ApiError::new(kinds::UNAVAILABLE, msg).with("retry_after_seconds", json!(BODY_RETRY_SECONDS))
}
