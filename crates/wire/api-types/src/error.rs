//! The error body `{kind, msg, details}` that every failure has, and the error that handlers raise.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::Object;
use crate::kinds::{self, Kind};

/// The body of every reply with a status of 400 and above.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// Stable name that clients branch on, for example `puppetlabs.orchestrator/unknown-job`.
    pub kind: String,
    /// Error message with cause, place and next step; the text may change.
    pub msg: String,
    /// Facts for programs, for example `{"environment": "x"}`.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub details: Object,
}

/// Error of a request, with status and body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// HTTP status of the reply.
    pub status: u16,
    /// Body of the reply.
    pub body: Box<ErrorBody>,
}

impl ApiError {
    /// Creates an error of `kind`, with its status.
    pub fn new(kind: Kind, msg: impl Into<String>) -> Self {
        let body = ErrorBody {
            kind: kind.name.to_owned(),
            msg: msg.into(),
            details: Object::new(),
        };
        Self {
            status: kind.status,
            body: Box::new(body),
        }
    }

    /// Creates a validation error about `place`: a JSON path, a query parameter or a part of the
    /// path.
    pub fn invalid(place: &str, what: impl fmt::Display) -> Self {
        Self::new(kinds::VALIDATION, format!("{place}: {what}")).with("path", json!(place))
    }

    /// Adds one entry to the details.
    #[must_use]
    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.body.details.insert(key.to_owned(), value);
        self
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.body.msg, self.body.kind)
    }
}

impl std::error::Error for ApiError {}
