//! Nodes of a scope on which the caller may run a task.
//!
//! Invariants: as in Puppet Enterprise, nodes that are not permitted are left out and named in the
//! response (to callers who may know them), and if none is left the command is refused; and a
//! permission that names no environment covers only nodes in the environment whose code is run, so
//! that push access to another branch runs nothing on them.

use std::collections::HashSet;

use api_types::{ApiError, kinds};
use jobs::{NodeResolveError, NodeScope, ScopeError, TaskWork};
use pcp::Certname;
use pxp::task::TaskName;
use rbac::{CodeReach, RequestedPermission, TaskRight, TaskScope};
use serde_json::json;

use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::refusals::scope_refusal;

/// The permitted part of a scope.
#[derive(Debug)]
pub(crate) struct PermittedNodes {
    /// The permitted nodes; `None`: all of the scope, whatever it resolves to.
    pub(crate) nodes: Option<Vec<Certname>>,
    /// Certnames that were left out.
    pub(crate) dropped: Vec<String>,
}

pub(crate) async fn permitted_nodes(
    api: &SharedApiContext,
    caller: &ApiCaller,
    task: &TaskWork,
    scope: &NodeScope,
) -> Result<PermittedNodes, ApiFailure> {
    let (task, environment) = (&task.name, task.environment.as_str());
    let right = api.access.task_right(&caller.0, task.as_str(), environment);
    let TaskRight {
        scope: limits,
        reach,
    } = right.await?;
    let allowed: Option<HashSet<String>> = match limits {
        TaskScope::All if reach == CodeReach::EveryNode => {
            return Ok(PermittedNodes {
                nodes: None,
                dropped: Vec::new(),
            });
        }
        TaskScope::All => None,
        TaskScope::None => {
            caller.demand(api, "tasks", "run", task.as_str())?;
            return Err(no_permitted_node_error(task));
        }
        TaskScope::Some {
            nodes,
            node_groups,
            pql_queries,
        } => {
            let mut allowed: HashSet<String> = nodes.into_iter().collect();
            let groups = node_groups.into_iter().map(NodeScope::NodeGroup);
            let queries = pql_queries
                .into_iter()
                .map(|pql| NodeScope::Query(pql.into()));
            for scope in groups.chain(queries) {
                allowed.extend(resolve_members(api, &scope).await?);
            }
            Some(allowed)
        }
    };
    let owner = &caller.0.user_id;
    let asked = api.jobs.resolve_targets(scope, environment, owner).await;
    let asked = asked.map_err(scope_refusal)?;
    let is_allowed = |node: &Certname| match &allowed {
        Some(allowed) => allowed.contains(node.as_str()),
        None => true,
    };
    let (mut nodes, mut dropped): (Vec<_>, Vec<_>) = asked.into_iter().partition(is_allowed);
    if nodes.is_empty() {
        return Err(no_permitted_node_error(task));
    }
    if reach == CodeReach::OwnEnvironment {
        let outside = nodes_outside_environment(api, &nodes, environment).await?;
        nodes.retain(|node| !outside.contains(node));
        if nodes.is_empty() {
            return Err(external_directories(task, environment));
        }
        dropped.extend(outside);
    }
    if !may_know_nodes(api, caller, scope) {
        dropped.clear();
    }
    Ok(PermittedNodes {
        nodes: Some(nodes),
        dropped: dropped.iter().map(ToString::to_string).collect(),
    })
}

/// True if the caller named the nodes of the scope, or may see them. Other scopes than a whole environment
/// need a permission that shows their nodes.
fn may_know_nodes(api: &SharedApiContext, caller: &ApiCaller, scope: &NodeScope) -> bool {
    let permission = RequestedPermission::any("nodes", "view_data");
    !matches!(scope, NodeScope::WholeEnvironment)
        || api.access.authorize(&caller.0, permission).is_ok()
}

/// The nodes of a part of a task target; one that is empty or deleted permits nothing.
async fn resolve_members(
    api: &SharedApiContext,
    scope: &NodeScope,
) -> Result<Vec<String>, ApiFailure> {
    match api.jobs.resolve_targets(scope, "", "").await {
        Ok(nodes) => Ok(nodes.iter().map(ToString::to_string).collect()),
        Err(
            ScopeError::EmptyTarget
            | ScopeError::Resolve(NodeResolveError::UnknownGroup(_) | NodeResolveError::NoRules(_)),
        ) => Ok(Vec::new()),
        Err(error) => Err(scope_refusal(error)),
    }
}

/// The nodes that are not in the environment whose code is to be run.
async fn nodes_outside_environment(
    api: &SharedApiContext,
    nodes: &[Certname],
    environment: &str,
) -> Result<HashSet<Certname>, ApiFailure> {
    let outside = api.jobs.find_outside_environment(nodes, environment).await;
    let outside = outside.map_err(|error| scope_refusal(ScopeError::Resolve(error)))?;
    Ok(outside.into_iter().collect())
}

fn external_directories(task: &TaskName, environment: &str) -> ApiFailure {
    let msg = format!(
        "you may run `{task}` with the code of the environment that a node is in, and none of these \
         nodes is in `{environment}`; to run that code there needs tasks:run on \
         `{task}@{environment}`"
    );
    let refused = ApiError::new(kinds::NOT_PERMITTED, msg);
    let refused = refused.with("task", json!(task.as_str()));
    ApiFailure(refused.with("environment", json!(environment)))
}

fn no_permitted_node_error(task: &TaskName) -> ApiFailure {
    let msg = format!("you may not run `{task}` on any of these nodes");
    let refused = ApiError::new(kinds::NOT_PERMITTED, msg);
    ApiFailure(refused.with("task", json!(task.as_str())))
}
