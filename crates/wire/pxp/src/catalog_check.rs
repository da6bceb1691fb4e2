//! The question of an agent whether its last catalog is still that of its node: [`CatalogCheck`],
//! [`CatalogCheckAnswer`].
//!
//! It is a request to the server on port 8140, over the node's own certificate:
//!
//! ```text
//! POST /tutti/v1/catalogs/{certname}/check
//! {"environment": "production", "catalog_uuid": "06702c6d-a713-4611-80a5-f0de71828dc3"}
//! -> {"current": true}
//! -> {"current": false, "reason": "another version of the code is live"}
//! ```

use serde::{Deserialize, Serialize};

/// Body of the request. Closed: a server that does not know a key cannot answer for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogCheck {
    /// Environment of the catalog.
    pub environment: String,
    /// Id of the catalog, which each compilation makes anew.
    pub catalog_uuid: String,
}

/// The response: is the catalog that of the node now?
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogCheckAnswer {
    /// True if a compilation from the same facts would give the same catalog now.
    pub current: bool,
    /// The reason that it is not current; `None` if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Path of the request for a node. A certname needs no escapes.
pub fn catalog_check_path(certname: &str) -> String {
    format!("/tutti/v1/catalogs/{certname}/check")
}
