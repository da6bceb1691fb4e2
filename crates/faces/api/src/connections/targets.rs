//! `targets[]` of `POST command/task`: connections to nodes for one job.
//!
//! Invariant: as in Puppet Enterprise, this needs the permission to run the task on all nodes,
//! since the caller chooses the hosts behind such nodes.

use std::collections::HashSet;

use api_types::connections::{Guarded, check_transport};
use api_types::{ApiError, Object, kinds};
use jobs::{NodeScope, TaskWork};
use pcp::Certname;
use rbac::TaskScope;
use serde_json::{Value, json};
use ssh::SshConnection;

use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::refusals::scope_refusal;

/// Encrypts the connections of `targets` and adds them to the task. Returns the nodes of the job, if they are
/// fixed.
pub(crate) async fn add_ssh_targets(
    api: &SharedApiContext,
    caller: &ApiCaller,
    task: &mut TaskWork,
    (scope, nodes): (&NodeScope, Option<Vec<Certname>>),
    targets: Vec<Guarded>,
) -> Result<Option<Vec<Certname>>, ApiFailure> {
    if targets.is_empty() {
        return Ok(nodes);
    }
    let (name, environment) = (task.name.as_str(), task.environment.as_str());
    let right = api.access.task_right(&caller.0, name, environment);
    if right.await?.scope != TaskScope::All {
        let msg = format!(
            "`targets` needs the permission tasks:run for `{name}` on all nodes; leave it away, or \
             store connections with /inventory/v1"
        );
        return Err(ApiError::new(kinds::NOT_PERMITTED, msg).into());
    }
    let nodes = match nodes {
        // The nodes on which the caller may run the task.
        Some(nodes) => nodes,
        None => {
            let nodes = api
                .jobs
                .resolve_targets(scope, environment, &caller.0.user_id)
                .await;
            nodes.map_err(scope_refusal)?
        }
    };
    let in_scope: HashSet<&Certname> = nodes.iter().collect();
    for (number, target) in targets.into_iter().enumerate() {
        let place = format!("targets[{number}]");
        let mut target = target.into_object(&place)?;
        let hosts = take_hostnames(&mut target, &place)?;
        if let Some(host) = hosts.iter().find(|host| !in_scope.contains(host)) {
            let msg = format!("{place}.hostnames: {host} is not in the scope");
            let details = ApiError::new(kinds::EMPTY_TARGET, msg).with("hostname", json!(host));
            return Err(details.into());
        }
        if let Some(host) = hosts.iter().find(|host| task.over_ssh.contains_node(host)) {
            let what = format!("{host} stands in an earlier target already");
            return Err(ApiError::invalid(&format!("{place}.hostnames"), what).into());
        }
        let connection = SshConnection::read_flat(target)
            .map_err(|error| ApiError::invalid(&format!("{place}.{}", error.key), error.why))?;
        if connection.replaces_agent() {
            let place = format!("{place}.{}", ssh::REPLACES_AGENT);
            let what = "is for stored connections; a target is reached as it says in any case";
            return Err(ApiError::invalid(&place, what).into());
        }
        let sealed = api.connections.seal(&connection);
        task.over_ssh.add(hosts, sealed);
    }
    // The nodes are fixed here, because the scope may resolve to others later.
    Ok(Some(nodes))
}

/// Removes the keys that are not part of the connection.
fn take_hostnames(target: &mut Object, place: &str) -> Result<Vec<Certname>, ApiError> {
    match target.remove("transport") {
        Some(Value::String(transport)) => {
            check_transport(&format!("{place}.transport"), &transport)?;
        }
        _ => {
            let place = format!("{place}.transport");
            return Err(ApiError::invalid(&place, "a text is expected: ssh"));
        }
    }
    let place = format!("{place}.hostnames");
    let Some(Value::Array(names)) = target.remove("hostnames") else {
        return Err(ApiError::invalid(&place, "a list of names is expected"));
    };
    let names: Option<Vec<Certname>> = names
        .iter()
        .map(|name| name.as_str()?.parse().ok())
        .collect();
    match names {
        Some(names) if !names.is_empty() => Ok(names),
        _ => Err(ApiError::invalid(
            &place,
            "at least one certname is needed, and no other thing",
        )),
    }
}
