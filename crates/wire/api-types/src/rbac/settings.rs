//! Settings of the login page: the disclaimer.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Reply to `GET config/disclaimer`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Disclaimer {
    /// Text of the disclaimer; empty if there is none.
    pub disclaimer: String,
}

/// Body of `POST command/config/set-disclaimer`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDisclaimer {
    /// Text of the disclaimer; empty to remove it.
    pub disclaimer: String,
}
