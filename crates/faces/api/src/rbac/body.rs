//! Bodies and ids of these routes: parsed strictly, with RBAC's error kinds.

use api_types::strict::{self, RequestBodyError};
use api_types::{ApiError, kinds};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderName, header};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::SharedApiContext;
use crate::body::read;
use crate::failure::ApiFailure;

/// A body that is parsed strictly.
pub(crate) struct RbacBody<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<SharedApiContext> for RbacBody<T> {
    type Rejection = ApiFailure;

    async fn from_request(request: Request, api: &SharedApiContext) -> Result<Self, ApiFailure> {
        let body = read(request, api).await?;
        Ok(Self(
            strict::read(&body).map_err(|error| body_error(&error))?,
        ))
    }
}

/// The error of a body in RBAC's form.
fn body_error(error: &RequestBodyError) -> ApiError {
    let general = ApiError::from(error);
    let kind = match general.body.details.contains_key("path") {
        true => kinds::RBAC_SCHEMA,
        false => kinds::RBAC_MALFORMED,
    };
    let (schema, submitted) = match error {
        RequestBodyError::Unreadable(error) => error.needed_and_found().unzip(),
        RequestBodyError::Empty => (None, None),
    };
    let msg = general.body.msg;
    let mut refused = ApiError::new(kind, msg.clone());
    refused.body.details = general.body.details;
    refused
        .with("submitted", json!(submitted))
        .with("schema", json!(schema))
        .with("error", json!(msg))
}

/// Parses the id of a user or group at `place`.
pub(crate) fn id(place: &str, text: &str) -> Result<String, ApiError> {
    // Ids of this server are UUIDs in their usual form; nothing else is looked up.
    let hex = |(i, c): (usize, char)| match i {
        8 | 13 | 18 | 23 => c == '-',
        _ => c.is_ascii_hexdigit(),
    };
    if text.len() == 36 && text.chars().enumerate().all(hex) {
        return Ok(text.to_ascii_lowercase());
    }
    let shown: String = text.chars().take(40).collect();
    let msg = format!("{place}: {shown:?} is not a UUID");
    Err(ApiError::new(kinds::INVALID_UUID, msg).with("path", json!(place)))
}

pub(crate) fn ids(place: &str, texts: &[String]) -> Result<Vec<String>, ApiError> {
    texts.iter().map(|text| id(place, text)).collect()
}

/// Parses the number of a role in a path.
pub(crate) fn role_id(text: &str) -> Result<i64, ApiError> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits);
    let shown: String = text.chars().take(40).collect();
    number.ok_or_else(|| super::refusal::schema("role", &format!("{shown:?} is no role's number")))
}

/// Checks that the id of the body is that of the path.
pub(crate) fn same_id(path: &str, body: &str) -> Result<(), ApiError> {
    if path == body {
        return Ok(());
    }
    let msg = "the id in the body is not the one in the path";
    Err(ApiError::new(kinds::INCONSISTENT_ID, msg))
}

/// The `Location` of a new object.
pub(crate) fn location(kind: &str, id: &str) -> [(HeaderName, String); 1] {
    [(header::LOCATION, format!("/rbac-api/v1/{kind}/{id}"))]
}
