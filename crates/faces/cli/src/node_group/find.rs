//! Finds node groups by name or id. Main function: [`id`].
//!
//! Invariant: a UUID is taken as the id; a name must be that of exactly one group.

use api_types::classifier::NodeGroup;
use uuid::Uuid;

use crate::Result;
use crate::client::{self, ApiClient};
use crate::failure::usage;

/// The segments of a route below that of all groups.
pub(crate) fn route<const N: usize>(rest: [&str; N]) -> Vec<&str> {
    client::route(["classifier-api", "v1", "groups"], rest)
}

/// The id of the group with this id or name.
pub(crate) async fn resolve_id(client: &ApiClient, called: &str) -> Result<String> {
    if Uuid::parse_str(called).is_ok() {
        return Ok(called.to_owned());
    }
    single_match(fetch_groups(client).await?, called).map(|group| group.id)
}

/// The group with this id or name.
pub(crate) async fn group(client: &ApiClient, called: &str) -> Result<NodeGroup> {
    if Uuid::parse_str(called).is_err() {
        return single_match(fetch_groups(client).await?, called);
    }
    client.get(&route([called]), &[]).await
}

/// All groups that the user may see.
pub(crate) async fn fetch_groups(client: &ApiClient) -> Result<Vec<NodeGroup>> {
    client.get(&route([]), &[]).await
}

fn single_match(groups: Vec<NodeGroup>, called: &str) -> Result<NodeGroup> {
    let mut fitting = groups.into_iter().filter(|group| group.name == called);
    match (fitting.next(), fitting.next()) {
        (Some(group), None) => Ok(group),
        (None, _) => usage(format!(
            "there is no node group `{called}` that you may see; `tutti node-group list` shows them"
        )),
        (Some(_), Some(_)) => usage(format!(
            "several node groups are called `{called}`; name one by its id, as in \
             `tutti node-group list --ids`"
        )),
    }
}

/// The name of the group with this id; the id if no such group is visible.
pub(crate) fn name_of<'a>(groups: &'a [NodeGroup], id: &'a str) -> &'a str {
    let group = groups.iter().find(|group| group.id == id);
    group.map_or(id, |group| &group.name)
}
