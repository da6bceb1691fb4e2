//! In which direction a list is sorted.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The direction of the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Smallest first.
    #[default]
    Asc,
    /// Largest first.
    Desc,
}
