//! Complete request body with a time limit: [`WholeBody`].
//!
//! Invariant: every handler that reads a body uses this extractor, because any client may open a
//! connection, announce a body and never send it.

use std::marker::PhantomData;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, Request};
use axum::response::IntoResponse;

use crate::defaults::BODY_TIME;

/// A body of at most the route's size that arrived within [`BODY_TIME`]. `F` is the failure of the
/// route's API.
#[derive(Debug)]
pub(crate) struct WholeBody<F>(pub(crate) Bytes, pub(crate) PhantomData<F>);

/// The failure of an API for a body that does not arrive as it should.
pub(crate) trait BodyFailure: From<BytesRejection> + IntoResponse {
    /// The client did not send its body in time.
    fn timeout(message: String) -> Self;
}

impl<S: Send + Sync, F: BodyFailure> FromRequest<S> for WholeBody<F> {
    type Rejection = F;

    async fn from_request(request: Request, state: &S) -> Result<Self, F> {
        match tokio::time::timeout(BODY_TIME, Bytes::from_request(request, state)).await {
            Ok(Ok(body)) => Ok(Self(body, PhantomData)),
            Ok(Err(refused)) => Err(F::from(refused)),
            Err(_) => Err(F::timeout(format!(
                "the request's body did not arrive within {} seconds",
                BODY_TIME.as_secs()
            ))),
        }
    }
}
