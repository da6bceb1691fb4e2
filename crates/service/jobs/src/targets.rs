//! Resolution of a scope to nodes, for every command.
//!
//! [`NodeScope`] is the request, [`resolve_targets`] resolves it. Invariant: nodes count once, in the order
//! given, and a scope that resolves to none is refused.

use std::collections::HashSet;

use pcp::Certname;
use serde_json::{Value, json};

use crate::defaults::SCOPE_NODES;
use crate::resolve::{NodeResolveError, NodeResolver};

/// The nodes that a command is for, before groups and queries are resolved.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NodeScope {
    /// Nodes by certname; duplicates count once.
    Nodes(Vec<Certname>),
    /// Nodes that a query returns: a PQL string or an AST array.
    Query(Value),
    /// Nodes that match the rules of the node group with this UUID.
    NodeGroup(String),
    /// All nodes of the environment.
    WholeEnvironment,
}

/// Reason that a scope resolves to no nodes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScopeError {
    /// The query or node group finds no node.
    #[error("the scope names no node: its query or node group finds none")]
    EmptyTarget,
    /// The environment has no nodes.
    #[error("no node is in the environment `{0}`")]
    EmptyEnvironment(String),
    /// The scope has more nodes than one job may have.
    #[error("the scope names {0} nodes; one job takes at most {SCOPE_NODES}")]
    TooManyNodes(usize),
    /// The scope is a whole environment, but the request names none.
    #[error("whole_environment needs an environment")]
    NoEnvironment,
    /// The inventory or classifier cannot answer.
    #[error(transparent)]
    Resolve(#[from] NodeResolveError),
}

/// Resolves a scope to its nodes.
pub(crate) async fn resolve_targets(
    scope: &NodeScope,
    environment: &str,
    resolve: &dyn NodeResolver,
) -> Result<Vec<Certname>, ScopeError> {
    let found = match scope {
        NodeScope::Nodes(names) => return deduplicate_names(names.iter().cloned()),
        NodeScope::Query(query) => resolve.query_certnames(query).await?,
        NodeScope::NodeGroup(group) => resolve.nodes_of_group(group).await?,
        NodeScope::WholeEnvironment if environment.is_empty() => {
            return Err(ScopeError::NoEnvironment);
        }
        NodeScope::WholeEnvironment => resolve.nodes_of_environment(environment).await?,
    };
    let nodes = deduplicate_names(found.iter().filter_map(|name| {
        let parsed = name.parse::<Certname>();
        if let Err(error) = &parsed {
            tracing::warn!(name, %error, "a name from the inventory is no certname; left out");
        }
        parsed.ok()
    }));
    match (nodes, scope) {
        (Err(ScopeError::EmptyTarget), NodeScope::WholeEnvironment) => {
            Err(ScopeError::EmptyEnvironment(environment.to_owned()))
        }
        (nodes, _) => nodes,
    }
}

fn deduplicate_names(names: impl Iterator<Item = Certname>) -> Result<Vec<Certname>, ScopeError> {
    let mut seen = HashSet::new();
    let nodes: Vec<Certname> = names.filter(|name| seen.insert(name.clone())).collect();
    match nodes.len() {
        0 => Err(ScopeError::EmptyTarget),
        count if count > SCOPE_NODES => Err(ScopeError::TooManyNodes(count)),
        _ => Ok(nodes),
    }
}

// === impl NodeScope ===

impl NodeScope {
    /// The scope as shown in a job's options: as requested, without duplicate names.
    pub(crate) fn to_shown_value(&self, nodes: &[Certname]) -> Value {
        match self {
            Self::Nodes(_) => json!({ "nodes": nodes }),
            Self::Query(query) => json!({ "query": query }),
            Self::NodeGroup(group) => json!({ "node_group": group }),
            Self::WholeEnvironment => json!({ "whole_environment": true }),
        }
    }
}

impl Default for NodeScope {
    fn default() -> Self {
        Self::Nodes(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::EmptyResolver;

    fn names(names: &[&str]) -> Vec<Certname> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    #[tokio::test]
    async fn names_count_once_in_their_order() {
        let scope = NodeScope::Nodes(names(&["b", "a", "b"]));
        let nodes = resolve_targets(&scope, "", &EmptyResolver).await.unwrap();
        assert_eq!(nodes, names(&["b", "a"]));
        assert_eq!(scope.to_shown_value(&nodes), json!({"nodes": ["b", "a"]}));
    }

    #[tokio::test]
    async fn nothing_and_too_much_are_refused() {
        let none = resolve_targets(&NodeScope::default(), "", &EmptyResolver).await;
        assert_eq!(none, Err(ScopeError::EmptyTarget));
        let all: Vec<Certname> = (0..=SCOPE_NODES)
            .map(|n| format!("n{n}").parse().unwrap())
            .collect();
        let many = resolve_targets(&NodeScope::Nodes(all), "", &EmptyResolver).await;
        assert_eq!(many, Err(ScopeError::TooManyNodes(SCOPE_NODES + 1)));
    }

    #[tokio::test]
    async fn whole_environment_needs_one() {
        let refused = resolve_targets(&NodeScope::WholeEnvironment, "", &EmptyResolver).await;
        assert_eq!(refused, Err(ScopeError::NoEnvironment));
        let refused =
            resolve_targets(&NodeScope::WholeEnvironment, "production", &EmptyResolver).await;
        assert!(matches!(refused, Err(ScopeError::Resolve(_))));
    }
}
