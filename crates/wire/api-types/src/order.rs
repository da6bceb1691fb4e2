//! Sort direction of lists: [`Order`].

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Sort direction of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Ascending: smallest value first.
    #[default]
    Asc,
    /// Descending: largest value first.
    Desc,
}
