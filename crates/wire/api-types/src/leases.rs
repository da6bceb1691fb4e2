//! Leases of nodes (an extension of Tutti): which job keeps other runs of Puppet from starting, and the end of that.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Body of `POST leases`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseQuery {
    /// Certnames of the nodes.
    pub nodes: Vec<String>,
}

/// The leases of nodes, in the order of the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseList {
    /// One item for each node.
    pub items: Vec<LeaseItem>,
}

/// The lease of one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseItem {
    /// Certname of the node.
    pub name: String,
    /// The lease; null if the node has none, or if it is not known.
    pub lease: Option<LeaseDetails>,
    /// Reason for which the lease is not known; absent if the agent answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A lease: only the runs of Puppet of its job start on the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseDetails {
    /// Number of the job.
    pub job: String,
    /// Reason in one line.
    pub reason: String,
    /// `held`; `waiting` if a run in progress has to end first; `refused` if the agent cannot hold it.
    pub state: String,
    /// Seconds after which the lease ends unless the job renews it; null: the node is in quarantine until a later run
    /// in order succeeds there, or the lease is released.
    pub ends_in_s: Option<u64>,
}

/// Body of `POST command/release_leases`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseLeasesCommand {
    /// Certnames of the nodes.
    pub nodes: Vec<String>,
}

/// Reply with one item for each node of the request, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReleaseLeasesReply {
    /// One item for each node.
    pub items: Vec<ReleasedLease>,
}

/// The end of one node's lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReleasedLease {
    /// Certname of the node.
    pub name: String,
    /// True if the node had a lease, which has ended.
    pub released: bool,
    /// Reason for which it is not known if the node had a lease; absent if the agent answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
