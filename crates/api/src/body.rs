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
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::Shared;
use crate::budget::{Exhausted, Share};
use crate::defaults::{
    BODY_RETRY_SECONDS, BODY_TIME, BODY_WAIT, DISCARD_BYTES, DISCARD_TIME, SMALL_BODY_BYTES,
    SMALL_BODY_TIME,
};
use crate::failure::{Failure, chain};
use crate::guard::Pass;

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
        return arrived(body, terms.max_bytes, Duration::MAX).await;
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
    match api.bodies.share(&terms.who, expected, BODY_WAIT).await {
        // There is one reader at a time.
        Ok(share) => _ = terms.share.set(share),
        Err(exhausted) => {
            if sends {
                discard(&mut body).await;
            }
            return Err(busy(exhausted).into());
        }
    }
    let time = match expected <= SMALL_BODY_BYTES {
        true => SMALL_BODY_TIME,
        false => BODY_TIME,
    };
    arrived(body, limit, time).await
}

async fn arrived(mut body: Body, limit: usize, time: Duration) -> Result<Bytes, Failure> {
    let whole = Limited::new(&mut body, limit).collect();
    match tokio::time::timeout(time, whole).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            discard(&mut body).await;
            Err(too_large(limit).into())
        }
        Ok(Err(error)) => {
            let error: Box<dyn std::error::Error> = error;
            let msg = format!("the request's body broke off: {}", chain(&*error));
            Err(ApiError::new(kinds::VALIDATION, msg).into())
        }
        Err(_) => {
            let seconds = time.as_secs();
            let msg = format!("the request's body did not arrive within {seconds} seconds");
            Err(ApiError::new(kinds::REQUEST_TIMEOUT, msg).into())
        }
    }
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
