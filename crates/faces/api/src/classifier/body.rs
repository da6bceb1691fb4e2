//! Parses requests of the classifier: bodies, ids, counts, certnames.

use api_types::classifier::PinNodes;
use api_types::parameters::Parameters;
use api_types::{ApiError, Page, kinds, strict};
use axum::extract::{FromRequest, Request};
use classifier::GroupId;
use pcp::Certname;
use serde_json::{Value, json};

use super::refusal;
use crate::SharedApiContext;
use crate::body::read;
use crate::failure::ApiFailure;

/// A body of any JSON; `None` without a body.
pub(crate) struct AnyJson(pub(crate) Option<Value>);

impl FromRequest<SharedApiContext> for AnyJson {
    type Rejection = ApiFailure;

    async fn from_request(request: Request, api: &SharedApiContext) -> Result<Self, ApiFailure> {
        let body = read(request, api).await?;
        if body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self(None));
        }
        match decode_errors::json::from_slice(&body) {
            Ok(json) => Ok(Self(Some(json))),
            Err(error) => {
                let msg = format!("the body is {error}");
                let start = body.get(..body.len().min(200)).unwrap_or_default();
                let refused = ApiError::new(kinds::MALFORMED_REQUEST, msg)
                    .with("body", json!(String::from_utf8_lossy(start)))
                    .with("error", json!(error.to_string()));
                Err(refused.into())
            }
        }
    }
}

impl AnyJson {
    /// The body, which is required.
    pub(super) fn require_json(self) -> Result<Value, ApiFailure> {
        let missing = || ApiError::new(kinds::MALFORMED_REQUEST, "the request has no body");
        Ok(self.0.ok_or_else(missing)?)
    }

    /// The body, parsed as another type.
    pub(super) fn parse_as<T: serde::de::DeserializeOwned>(self) -> Result<Option<T>, ApiFailure> {
        let Some(json) = self.0 else {
            return Ok(None);
        };
        let decoded = strict::decode(json.to_string().as_bytes());
        let decoded = decoded.map_err(|error| {
            let mut refused = ApiError::new(kinds::SCHEMA_VIOLATION, error.body.msg.clone());
            refused.body.details = error.body.details;
            refused
        });
        Ok(Some(decoded?))
    }
}

pub(super) fn group_id(text: &str) -> Result<GroupId, ApiFailure> {
    let refused = |error: classifier::InvalidGroupId| {
        let shown: String = text.chars().take(40).collect();
        ApiError::new(kinds::MALFORMED_UUID, format!("{shown:?}: {error}"))
    };
    Ok(text.parse().map_err(refused)?)
}

pub(super) fn certname(text: &str) -> Result<Certname, ApiFailure> {
    let refused = |error: pcp::CertnameError| {
        ApiError::new(kinds::SCHEMA_VIOLATION, error.to_string()).with("path", json!("name"))
    };
    Ok(text.parse().map_err(refused)?)
}

/// A non-negative integer in the query.
pub(super) fn count(given: &mut Parameters, name: &str) -> Result<Option<u32>, ApiFailure> {
    let Some(text) = given.text(name) else {
        return Ok(None);
    };
    let shown: String = text.chars().take(40).collect();
    let refused = match text.parse::<i64>() {
        Ok(number) => match u32::try_from(number) {
            Ok(count) => return Ok(Some(count)),
            Err(_) => ApiError::new(kinds::ILLEGAL_COUNT, format!("{name}: {shown} is no count")),
        },
        Err(_) => ApiError::new(
            kinds::MALFORMED_NUMBER,
            format!("{name}: {shown:?} is no whole number"),
        ),
    };
    Err(refused.with("path", json!(name)).into())
}

/// Applies `limit` and `offset` to a list in memory.
pub(super) fn take_page<T>(items: Vec<T>, page: Page) -> Vec<T> {
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let limit = page.limit.map_or(usize::MAX, size);
    items
        .into_iter()
        .skip(size(page.offset))
        .take(limit)
        .collect()
}

/// The nodes to pin or unpin: in the query, separated by commas, or in the body.
pub(super) fn nodes(mut given: Parameters, body: AnyJson) -> Result<Vec<String>, ApiFailure> {
    let in_query = given.text("nodes");
    given.finish()?;
    let names: Vec<String> = match (in_query, body.0.is_some()) {
        (Some(text), false) => text.split(',').map(str::to_owned).collect(),
        (_, true) => body
            .parse_as::<PinNodes>()?
            .map_or_else(Vec::new, |pin| pin.nodes),
        (None, false) => {
            let msg =
                "name nodes in the query (`?nodes=a,b`) or in the body ({\"nodes\": [\"a\"]})";
            return Err(ApiError::new(kinds::MISSING_PARAMETERS, msg).into());
        }
    };
    for name in &names {
        certname(name)?;
    }
    Ok(names)
}

/// A body that the classifier parses itself.
pub(super) fn parse_with<T>(
    json: &Value,
    parse: impl FnOnce(&Value) -> Result<T, classifier::SchemaError>,
) -> Result<T, ApiFailure> {
    parse(json).map_err(|error| refusal::schema(&error, json))
}
