//! Reading a request body: bounded in size, time and, over all requests, in memory.

use api_types::{ApiError, kinds, strict};
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::Shared;
use crate::defaults::{BODY_BUDGET_BYTES, BODY_TIME, DISCARD_BYTES, DISCARD_TIME};
use crate::failure::{Failure, chain};

/// A body that was read strictly. The content type does not matter: real clients send none, or
/// one that is wrong.
pub(crate) struct Strict<T>(pub(crate) T);

/// A body that may be absent.
pub(crate) struct Optional<T>(pub(crate) Option<T>);

/// How large the body of this request may be; from its route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaxBody(pub(crate) usize);

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

async fn read(request: Request, api: &Shared) -> Result<Bytes, Failure> {
    let limit = request.extensions().get::<MaxBody>().map_or(0, |max| max.0);
    let announced = announced_bytes(request.headers());
    let asks_first = request.headers().contains_key(header::EXPECT);
    let mut body = request.into_body();
    if announced.is_some_and(|bytes| bytes > limit) {
        // Who asks before sending has sent nothing yet.
        if !asks_first {
            discard(&mut body).await;
        }
        return Err(too_large(limit).into());
    }
    // Who does not say how much comes may send as much as is allowed.
    let kilobytes = announced
        .unwrap_or(limit)
        .min(BODY_BUDGET_BYTES)
        .div_ceil(1024);
    let kilobytes = u32::try_from(kilobytes).expect("the budget in KiB fits");
    let _share = api
        .bodies
        .acquire_many(kilobytes)
        .await
        .map_err(|_| shutting_down())?;
    let whole = Limited::new(&mut body, limit).collect();
    match tokio::time::timeout(BODY_TIME, whole).await {
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
            let seconds = BODY_TIME.as_secs();
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

fn shutting_down() -> ApiError {
    ApiError::new(
        kinds::UNAVAILABLE,
        "the server is shutting down; try again in a moment",
    )
}
