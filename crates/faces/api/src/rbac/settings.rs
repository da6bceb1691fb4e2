//! The disclaimer of the login page.

use api_types::rbac::{Disclaimer, NewDisclaimer};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::body::RbacBody;
use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
) -> Result<Json<Disclaimer>, ApiFailure> {
    let disclaimer = api.access.disclaimer().await?.unwrap_or_default();
    Ok(Json(Disclaimer { disclaimer }))
}

pub(crate) async fn set(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    RbacBody(asked): RbacBody<NewDisclaimer>,
) -> Result<StatusCode, ApiFailure> {
    let text = Some(asked.disclaimer.as_str());
    api.access.set_disclaimer(&caller.0, text).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn remove(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
) -> Result<StatusCode, ApiFailure> {
    api.access.set_disclaimer(&caller.0, None).await?;
    Ok(StatusCode::NO_CONTENT)
}
