//! The guard of every route, with its policy. Main function: [`guard`].
//!
//! Invariant: if a route requires a token, a valid one is checked before a byte of the body is
//! read.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use https::ConnectionHandle;

use crate::audit;
use crate::body::BodyLimits;
use crate::credentials::RequestCredentials;
use crate::failure::ApiFailure;
use crate::state::RouteState;

/// Passes an authorized request to its handler, or refuses it.
pub(crate) async fn guard(
    State((api, route)): State<RouteState>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiFailure> {
    let pass = RequestCredentials::new(route, &request);
    let caller = pass.caller(&api).await?;
    let terms = BodyLimits {
        max_bytes: route.max_body_bytes,
        client: pass.client_name(caller.as_ref()),
        credentials: pass.clone(),
        share: Arc::default(),
    };
    if let (Some(_), Some(hold)) = (&caller, request.extensions().get::<ConnectionHandle>()) {
        hold.mark_authenticated();
    }
    if let Some(caller) = caller {
        audit::record_caller(&request, &caller);
        pass.authorize(&api, &caller)?;
        request.extensions_mut().insert(caller);
    }
    // Held until the request is handled: the handler's copy of the body takes memory too.
    let _share = Arc::clone(&terms.share);
    request.extensions_mut().insert(terms);
    request.extensions_mut().insert(pass);
    Ok(next.run(request).await)
}
