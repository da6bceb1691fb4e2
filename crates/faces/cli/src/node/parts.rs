//! Requests about more nodes than the server takes in one: [`post_in_parts`].
//!
//! Invariant: the parts are sent one after the other, in the order of the nodes, and the first that fails is the last.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Result;
use crate::client::ApiClient;
use crate::defaults::NODES_IN_REQUEST;

/// Sends a command about these nodes, in as many requests as it takes. Returns the items of all replies.
pub(super) async fn post_in_parts<C: Serialize, R: DeserializeOwned, I>(
    client: &ApiClient,
    path: &[&str],
    nodes: &[String],
    command: impl Fn(Vec<String>) -> C,
    items: impl Fn(R) -> Vec<I>,
) -> Result<Vec<I>> {
    let mut all = Vec::with_capacity(nodes.len());
    for part in nodes.chunks(NODES_IN_REQUEST) {
        let reply = client.post(path, &command(part.to_vec())).await?;
        all.extend(items(reply));
    }
    Ok(all)
}
