//! Requests about the leases of nodes, whichever job has them: [`show_all`], [`release_all`].

use futures_util::{StreamExt as _, stream};
use pcp::Certname;
use pxp::action::{
    self, RELEASE_LEASE_ACTION, ReleaseLeaseParams, SHOW_LEASE_ACTION, ShowLeaseParams,
    ShowLeaseResult, ShownLease,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::LeaseServices;
use crate::blocking_requests::NodeRequestError;
use crate::defaults::LEASE_REQUESTS;
use crate::verdict::clip;

/// What a node's agent answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAnswer<T> {
    /// Certname of the node.
    pub certname: Certname,
    /// The answer, or the reason that there is none.
    pub result: Result<T, NodeRequestError>,
}

#[derive(Deserialize)]
struct ReleaseLeaseResult {
    released: bool,
}

/// The leases of nodes, in the order of the nodes; `None` for a node without one.
pub(crate) async fn show_all(
    services: &LeaseServices,
    nodes: &[Certname],
) -> Vec<NodeAnswer<Option<ShownLease>>> {
    let params = action::encode(&ShowLeaseParams {});
    let answers = ask_all::<ShowLeaseResult>(services, nodes, SHOW_LEASE_ACTION, params).await;
    let lease = |answer: NodeAnswer<ShowLeaseResult>| NodeAnswer {
        certname: answer.certname,
        result: answer.result.map(|result| result.lease.map(to_short)),
    };
    answers.into_iter().map(lease).collect()
}

/// Ends the leases of nodes; `false` for a node that had none.
pub(crate) async fn release_all(
    services: &LeaseServices,
    nodes: &[Certname],
) -> Vec<NodeAnswer<bool>> {
    let params = action::encode(&ReleaseLeaseParams {
        lease: None,
        restore: false,
    });
    let answers =
        ask_all::<ReleaseLeaseResult>(services, nodes, RELEASE_LEASE_ACTION, params).await;
    let released = |answer: NodeAnswer<ReleaseLeaseResult>| NodeAnswer {
        certname: answer.certname,
        result: answer.result.map(|result| result.released),
    };
    answers.into_iter().map(released).collect()
}

/// The lease with texts of a bounded length, whatever the agent says.
fn to_short(lease: ShownLease) -> ShownLease {
    ShownLease {
        job: clip(&lease.job).to_owned(),
        reason: clip(&lease.reason).to_owned(),
        ..lease
    }
}

/// Asks the agents of these nodes, a bounded number at once.
async fn ask_all<T: DeserializeOwned>(
    services: &LeaseServices,
    nodes: &[Certname],
    action: &'static str,
    params: Box<RawValue>,
) -> Vec<NodeAnswer<T>> {
    let requests = nodes.iter().map(|node| {
        let (services, node, params) = (services.clone(), node.clone(), params.clone());
        async move {
            let answer = services.request(&node, action, params).await;
            let answer = answer.map_err(NodeRequestError::with_short_text);
            let result = answer.and_then(|answer| {
                let result = action::decode(&answer);
                result.map_err(|error| NodeRequestError::Unreadable(error.to_string()))
            });
            NodeAnswer {
                certname: node,
                result,
            }
        }
    });
    let answers = stream::iter(requests.collect::<Vec<_>>());
    answers.buffered(LEASE_REQUESTS).collect().await
}
