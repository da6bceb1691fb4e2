//! The disclaimer of the login page.

use api_types::rbac::{Disclaimer, NewDisclaimer};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::body::RbacBody;
use crate::Shared;
use crate::failure::Failure;
use crate::guard::Caller;

pub(crate) async fn show(State(api): State<Shared>) -> Result<Json<Disclaimer>, Failure> {
    let disclaimer = api.access.disclaimer().await?.unwrap_or_default();
    Ok(Json(Disclaimer { disclaimer }))
}

pub(crate) async fn set(
    State(api): State<Shared>,
    caller: Caller,
    RbacBody(asked): RbacBody<NewDisclaimer>,
) -> Result<StatusCode, Failure> {
    let text = Some(asked.disclaimer.as_str());
    api.access.set_disclaimer(&caller.0, text).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn remove(
    State(api): State<Shared>,
    caller: Caller,
) -> Result<StatusCode, Failure> {
    api.access.set_disclaimer(&caller.0, None).await?;
    Ok(StatusCode::NO_CONTENT)
}
