//! On which nodes of a scope the caller may run a task.
//!
//! The rule, as Puppet Enterprise has it: nodes that are not permitted are left out and named in the
//! answer; with none left the command is refused.

use std::collections::HashSet;

use access::TaskScope;
use api_types::{ApiError, kinds};
use jobs::{ResolveError, Scope, ScopeError};
use pcp::Certname;
use pxp::task::TaskName;
use serde_json::json;

use crate::Shared;
use crate::failure::Failure;
use crate::guard::Caller;
use crate::refusals::scope_refusal;

/// What of a scope is permitted.
#[derive(Debug)]
pub(crate) struct Permitted {
    /// `None`: all of it, whatever it comes to.
    pub(crate) nodes: Option<Vec<Certname>>,
    /// Certnames that were left out.
    pub(crate) dropped: Vec<String>,
}

pub(crate) async fn permitted(
    api: &Shared,
    caller: &Caller,
    task: &TaskName,
    environment: &str,
    scope: &Scope,
) -> Result<Permitted, Failure> {
    let limits = api.access.task_scope(&caller.0, task.as_str()).await?;
    let mut allowed = match limits {
        TaskScope::All => {
            return Ok(Permitted {
                nodes: None,
                dropped: Vec::new(),
            });
        }
        TaskScope::None => {
            caller.demand(api, "tasks", "run", task.as_str())?;
            return Err(none_left(task));
        }
        TaskScope::Some {
            nodes,
            node_groups,
            pql_queries,
        } => {
            let mut allowed: HashSet<String> = nodes.into_iter().collect();
            let groups = node_groups.into_iter().map(Scope::NodeGroup);
            let queries = pql_queries.into_iter().map(|pql| Scope::Query(pql.into()));
            for scope in groups.chain(queries) {
                allowed.extend(members(api, &scope).await?);
            }
            allowed
        }
    };
    let asked = api.jobs.targets(scope, environment).await;
    let asked = asked.map_err(|error| scope_refusal(&error))?;
    let (nodes, dropped): (Vec<_>, Vec<_>) = asked
        .into_iter()
        .partition(|node| allowed.remove(node.as_str()));
    if nodes.is_empty() {
        return Err(none_left(task));
    }
    Ok(Permitted {
        nodes: Some(nodes),
        dropped: dropped.iter().map(ToString::to_string).collect(),
    })
}

/// The nodes of a part of a task target; one that is empty or gone permits nothing.
async fn members(api: &Shared, scope: &Scope) -> Result<Vec<String>, Failure> {
    match api.jobs.targets(scope, "").await {
        Ok(nodes) => Ok(nodes.iter().map(ToString::to_string).collect()),
        Err(
            ScopeError::EmptyTarget
            | ScopeError::Resolve(ResolveError::UnknownGroup(_) | ResolveError::NoRules(_)),
        ) => Ok(Vec::new()),
        Err(error) => Err(scope_refusal(&error)),
    }
}

fn none_left(task: &TaskName) -> Failure {
    let msg = format!("you may not run `{task}` on any of these nodes");
    let refused = ApiError::new(kinds::NOT_PERMITTED, msg);
    Failure(refused.with("task", json!(task.as_str())))
}
