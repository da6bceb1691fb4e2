//! Which part of a list.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ApiError;
use crate::order::Order;
use crate::parameters::Parameters;

/// `limit` and `offset`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Page {
    /// How many at most; `None`: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// How many are left out at the beginning.
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

/// What was asked, with defaults filled in, and how many there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pagination {
    /// As asked; null: all.
    #[serde(default)]
    pub limit: Option<u64>,
    /// As asked, or 0.
    #[serde(default)]
    pub offset: u64,
    /// As asked, or the default.
    #[serde(default)]
    pub order_by: String,
    /// As asked, or `asc`.
    #[serde(default)]
    pub order: Order,
    /// How many there are without `limit` and `offset`.
    #[serde(default)]
    pub total: u64,
    /// As asked, or empty.
    #[serde(default, rename = "type")]
    pub kind: String,
}

impl Pagination {
    /// Of a list that was asked for in this way and has so many items in all.
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

    /// Of those of one type.
    #[must_use]
    pub fn of_type(self, kind: Option<&str>) -> Self {
        Self {
            kind: kind.unwrap_or_default().to_owned(),
            ..self
        }
    }
}
