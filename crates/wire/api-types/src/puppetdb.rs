//! The request of `/pdb/query/v4`, as `PuppetDB` takes it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::ApiError;
use crate::parameters::Parameters;

/// A query, and which part of its answer is wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PuppetDbQuery {
    /// PQL as a string, or the AST as an array. Only `/pdb/query/v4/{entity}` goes without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, example = "nodes[certname] { certname ~ \"^web\" }")]
    pub query: Option<Value>,
    /// At most so many rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// So many rows are left out at the begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// `[{"field": "certname", "order": "desc"}]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub order_by: Option<Value>,
}

impl PuppetDbQuery {
    /// The same from a URL.
    ///
    /// # Errors
    /// A validation error that names the parameter.
    pub fn from_parameters(mut given: Parameters) -> Result<Self, ApiError> {
        let order_by = given.text("order_by").map(|text| {
            decode_errors::json::from_str(&text)
                .map_err(|error| ApiError::invalid("order_by", error))
        });
        let query = Self {
            query: given.text("query").map(Value::String),
            limit: given.number("limit")?,
            offset: given.number("offset")?,
            order_by: order_by.transpose()?,
        };
        given.finish()?;
        Ok(query)
    }
}
