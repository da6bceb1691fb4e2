//! Complete request body with a time limit: [`WholeBody`].
//!
//! Invariant: every handler of the CA that reads a body uses this extractor, because any client may open
//! a connection, announce a body and never send it.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};

use super::failure::CaFailure;
use crate::defaults::BODY_TIME;

/// A body of at most [`MAX_BODY_BYTES`](crate::defaults::MAX_BODY_BYTES) that arrived within
/// [`BODY_TIME`].
#[derive(Debug)]
pub(super) struct WholeBody(pub(super) Bytes);

impl<S: Send + Sync> FromRequest<S> for WholeBody {
    type Rejection = CaFailure;

    async fn from_request(request: Request, state: &S) -> Result<Self, CaFailure> {
        match tokio::time::timeout(BODY_TIME, Bytes::from_request(request, state)).await {
            Ok(Ok(body)) => Ok(Self(body)),
            Ok(Err(refused)) => Err(CaFailure::from(refused)),
            Err(_) => Err(CaFailure::timeout(format!(
                "the request's body did not arrive within {} seconds",
                BODY_TIME.as_secs()
            ))),
        }
    }
}
