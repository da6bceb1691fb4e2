//! Errors as responses: always `{kind, msg, details}`.
//!
//! Invariant: a mistake of the client is reported in full; an error of the server is logged with
//! its causes, and the client gets only the fact and a hint to the log.

use error_causes::chain;
use std::error::Error;
use std::io::ErrorKind;

use api_types::{ApiError, kinds};
use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use store::StoreError;

use crate::audit::RecordedErrorKind;

/// The error of a handler.
#[derive(Debug)]
pub(crate) struct ApiFailure(pub(crate) ApiError);

impl ApiFailure {
    /// An internal error of the server, while doing `what`.
    pub(crate) fn internal(what: &str, error: &(dyn Error + 'static)) -> Self {
        tracing::error!(error = %chain(error), "cannot {what}");
        if let Some(lack) = missing_resource(error) {
            let msg = format!("cannot {what}: {lack}; try again when an operator has seen to it");
            return Self(ApiError::new(kinds::UNAVAILABLE, msg));
        }
        let msg = format!("cannot {what}; the server's log has the reason");
        Self(ApiError::new(kinds::UNKNOWN, msg))
    }
}

impl From<ApiError> for ApiFailure {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl From<StoreError> for ApiFailure {
    fn from(error: StoreError) -> Self {
        Self::internal("read the database", &error)
    }
}

impl IntoResponse for ApiFailure {
    fn into_response(self) -> Response {
        let ApiError { status, body } = self.0;
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let wait = body
            .details
            .get("retry_after_seconds")
            .and_then(Value::as_u64);
        let refused = RecordedErrorKind {
            kind: body.kind.clone(),
            permission: body.details.get("permission").and_then(text),
        };
        let mut response = (status, Json(json!(body))).into_response();
        response.extensions_mut().insert(refused);
        if let Some(seconds) = wait {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// The missing resource of the server, if that is the cause: no bug, and temporary.
fn missing_resource(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let mut next = Some(error);
    while let Some(error) = next {
        let store = error.downcast_ref::<StoreError>();
        let file = error.downcast_ref::<std::io::Error>();
        if matches!(store, Some(StoreError::DiskFull(_)))
            || file.is_some_and(|error| error.kind() == ErrorKind::StorageFull)
        {
            return Some("a disk of the server is full");
        }
        if matches!(store, Some(StoreError::Unavailable(_))) {
            return Some("the server's database is not reachable");
        }
        next = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(kind: ErrorKind) -> jobs::RunJobError {
        let source = kind.into();
        let path = "blobs".into();
        jobs::RunJobError::Files(environments::BlobError::Io { path, source })
    }

    #[test]
    fn what_the_server_lacks_is_told_and_its_mistakes_are_not() {
        let full = files(ErrorKind::StorageFull);
        let ApiFailure(refused) = ApiFailure::internal("run the task", &full);
        assert_eq!(refused.status, 503);
        assert!(refused.body.msg.contains("is full"), "{}", refused.body.msg);
        let mistake = files(ErrorKind::PermissionDenied);
        let ApiFailure(refused) = ApiFailure::internal("run the task", &mistake);
        assert_eq!(refused.status, 500);
        assert!(refused.body.msg.contains("log"), "{}", refused.body.msg);
    }
}
