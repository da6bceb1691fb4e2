//! The disclaimer of the login page.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET config/disclaimer`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Disclaimer {
    /// The text; empty: none.
    pub disclaimer: String,
}

/// `POST command/config/set-disclaimer`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDisclaimer {
    /// The text.
    pub disclaimer: String,
}
