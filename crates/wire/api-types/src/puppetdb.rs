//! Request of `/pdb/query/v4`, in `PuppetDB`'s format.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::ApiError;
use crate::parameters::Parameters;

/// A query of `PuppetDB`, with order and paging of its result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PuppetDbQuery {
    /// PQL as a string, or an AST as an array. Optional only for `/pdb/query/v4/{entity}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, example = "nodes[certname] { certname ~ \"^web\" }")]
    pub query: Option<Value>,
    /// Largest number of rows to return; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Number of rows to skip at the beginning; absent: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Sort keys: `[{"field": "certname", "order": "desc"}]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub order_by: Option<Value>,
}

impl PuppetDbQuery {
    /// Reads the same keys from the query parameters of a URL.
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
