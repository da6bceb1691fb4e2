//! Paging of lists: [`Page`] in the request, [`Pagination`] in the reply.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ApiError;
use crate::order::Order;
use crate::parameters::Parameters;

/// Part of a list to return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Page {
    /// Largest number of items to return; `None`: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Number of items to skip at the beginning.
    pub offset: u64,
}

impl Page {
    pub(crate) fn take(parameters: &mut Parameters) -> Result<Self, ApiError> {
        let limit = parameters.number("limit")?;
        Ok(Self {
            limit,
            offset: parameters.number("offset")?.unwrap_or(0),
        })
    }
}

/// Paging of the request with defaults filled in, and the size of the whole list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pagination {
    /// Limit of the request; null: all items.
    #[serde(default)]
    pub limit: Option<u64>,
    /// Offset of the request, or 0.
    #[serde(default)]
    pub offset: u64,
    /// Sort key of the request, or the default.
    #[serde(default)]
    pub order_by: String,
    /// Direction of the sort: that of the request, or `asc`.
    #[serde(default)]
    pub order: Order,
    /// Number of items in the whole list, without `limit` and `offset`.
    #[serde(default)]
    pub total: u64,
    /// Filter of the request, or empty.
    #[serde(default, rename = "type")]
    pub kind: String,
}

impl Pagination {
    /// Creates the pagination of a list with `total` items in all.
    pub fn of(page: Page, order_by: &str, order: Order, total: u64) -> Self {
        Self {
            limit: page.limit,
            offset: page.offset,
            order_by: order_by.to_owned(),
            order,
            total,
            kind: String::new(),
        }
    }

    /// Adds the type by which the list was filtered.
    #[must_use]
    pub fn of_type(self, kind: Option<&str>) -> Self {
        Self {
            kind: kind.unwrap_or_default().to_owned(),
            ..self
        }
    }
}
