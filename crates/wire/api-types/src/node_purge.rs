//! Removal of nodes: `POST /inventory/v1/command/purge-node`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{RevocationInForce, strict};

/// Body of `POST command/purge-node`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PurgeNode {
    /// Certname of the node.
    pub certname: String,
    /// Keep the certificate and the data of this server, and only deactivate the node in PuppetDB.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub only_deactivate: bool,
}

/// Reply to `POST command/purge-node`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NodePurged {
    /// Certname of the node.
    pub certname: String,
    /// `cleaned`: revoked and deleted; `unknown`: there was none; `kept`; `elsewhere`: this server is no
    /// certificate authority.
    #[schema(example = "cleaned")]
    pub certificate: String,
    /// Progress of the revocation; absent if nothing was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revocation: Option<RevocationInForce>,
    /// True if the inventory of this server knew the node, and its data was deleted.
    pub was_known: bool,
    /// `queued`: the node is deactivated when PuppetDB takes the command; `deactivated`; `none`: no
    /// PuppetDB is configured.
    #[schema(example = "queued")]
    pub puppetdb: String,
}
