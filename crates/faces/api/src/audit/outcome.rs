//! The outcome of a request: [`read_outcome`], [`refusal_outcome`].
//!
//! Invariant: of a response that may contain a token, only the number of a job and the id of a
//! created object are read.

use audit::{AuditObject, AuditOutcome};
use axum::body::{Body, HttpBody as _};
use axum::http::{StatusCode, header};
use axum::response::Response;
use http_body_util::BodyExt as _;
use serde::Deserialize;
use serde_json::Value;

/// Size limit of a response that is read. Those with a job number have some hundred bytes.
const REPLY_BYTES: u64 = 64 * 1_024;

/// Extension of a response set by [`crate::failure::ApiFailure`]: the kind of the error, and the
/// missing permission.
#[derive(Clone, Debug)]
pub(crate) struct RecordedErrorKind {
    pub(crate) kind: String,
    pub(crate) permission: Option<String>,
}

#[derive(Deserialize)]
struct CommandReply {
    job: Option<CreatedName>,
    id: Option<Value>,
}

#[derive(Deserialize)]
struct CreatedName {
    name: String,
}

/// The outcome of a command; also returns the complete response.
pub(crate) async fn read_outcome(response: Response) -> (Response, AuditOutcome) {
    if !response.status().is_success() {
        let outcome = failure(&response);
        return (response, outcome);
    }
    let mut outcome = success_outcome(&response);
    if outcome.object.is_some() || !is_short_json(&response) {
        return (response, outcome);
    }
    let status = response.status();
    let (parts, body) = response.into_parts();
    // The body is in memory already.
    let Ok(whole) = body.collect().await else {
        return (Response::from_parts(parts, Body::empty()), outcome);
    };
    let bytes = whole.to_bytes();
    outcome.object = object(status, &bytes);
    (Response::from_parts(parts, Body::from(bytes)), outcome)
}

/// The outcome of a refused request; `None` if it was authorized or failed for another reason.
pub(crate) fn refusal_outcome(response: &Response) -> Option<AuditOutcome> {
    let refused = [
        StatusCode::UNAUTHORIZED,
        StatusCode::FORBIDDEN,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    refused
        .contains(&response.status())
        .then(|| failure(response))
}

/// The outcome of a request that succeeded, without the details of its body.
pub(crate) fn success_outcome(response: &Response) -> AuditOutcome {
    let location = response.headers().get(header::LOCATION);
    let location = location.and_then(|location| location.to_str().ok());
    AuditOutcome {
        status: Some(response.status().as_u16()),
        object: location.and_then(object_of_location),
        ..AuditOutcome::default()
    }
}

fn failure(response: &Response) -> AuditOutcome {
    let refused = response.extensions().get::<RecordedErrorKind>();
    let denied = [StatusCode::FORBIDDEN, StatusCode::UNAUTHORIZED].contains(&response.status());
    AuditOutcome {
        status: Some(response.status().as_u16()),
        error: refused.map(|refused| refused.kind.clone()),
        denied: denied.then(|| {
            let permission = refused.and_then(|refused| refused.permission.clone());
            permission.unwrap_or_default()
        }),
        ..AuditOutcome::default()
    }
}

fn is_short_json(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok());
    let exact = response.body().size_hint().exact();
    kind.is_some_and(|kind| kind.starts_with("application/json"))
        && exact.is_some_and(|bytes| bytes <= REPLY_BYTES)
}

fn object(status: StatusCode, bytes: &[u8]) -> Option<AuditObject> {
    let reply: CommandReply = serde_json::from_slice(bytes).ok()?;
    if let Some(job) = reply.job {
        return Some(AuditObject::named("job", &job.name));
    }
    if status != StatusCode::CREATED {
        return None;
    }
    match reply.id? {
        Value::String(id) => Some(AuditObject::named("", &id)),
        Value::Number(id) => Some(AuditObject::named("", &id.to_string())),
        _ => None,
    }
}

/// The created object of a `Location`: `…/roles/7` is a role with the id 7.
fn object_of_location(location: &str) -> Option<AuditObject> {
    let mut parts = location.trim_end_matches('/').rsplit('/');
    let (id, kinds) = (parts.next()?, parts.next()?);
    let kind = kinds.strip_suffix('s').unwrap_or(kinds);
    Some(AuditObject::named(kind, id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_tells_a_job_or_what_was_made_and_no_token() {
        let job = br#"{"job":{"id":"https://x/jobs/7","name":"7"}}"#;
        let named = object(StatusCode::ACCEPTED, job);
        assert_eq!(named, Some(AuditObject::named("job", "7")));
        assert_eq!(
            object(StatusCode::OK, br#"{"token":"CANARY","id":"x"}"#),
            None
        );
        assert_eq!(
            object_of_location("/rbac-api/v1/roles/7"),
            Some(AuditObject::named("role", "7"))
        );
    }
}
