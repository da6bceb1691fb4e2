//! Resolution of a scope to nodes, for every command.
//!
//! [`NodeScope`] is the request, [`resolve_targets`] resolves it. Invariant: nodes count once, in the order
//! given, and a scope that resolves to none is refused.

use std::collections::HashSet;
use std::sync::Arc;

use environments::EnvironmentName;
use pcp::Certname;
use pxp::action::CodeId;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::applications::{
    ApplicationGraphError, ApplicationGraphs, ApplicationSelector, EnvironmentApplications,
};
use crate::defaults::{INSTANCES_NAMED, SCOPE_NODES};
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
    /// Nodes to which components of these application instances are mapped.
    Application(ApplicationSelector),
    /// All nodes of the environment.
    WholeEnvironment,
}

/// Reason that a scope resolves to no nodes.
#[derive(Debug, thiserror::Error)]
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
    /// The scope is an application, but the request names no environment.
    #[error("an application needs an environment")]
    ApplicationWithoutEnvironment,
    /// The environment has not enabled applications.
    #[error(
        "the environment `{0}` has no applications; `applications = true` in its environment.conf enables them"
    )]
    ApplicationsDisabled(String),
    /// The environment has no such instance.
    #[error(
        "the environment `{environment}` has no instance {selector}{}",
        list_instances(instances)
    )]
    UnknownApplication {
        /// Name of the environment.
        environment: String,
        /// The application or instance as requested.
        selector: ApplicationSelector,
        /// References of all instances that there are.
        instances: Vec<String>,
    },
    /// The applications of the environment are not known.
    #[error(transparent)]
    Applications(#[from] ApplicationGraphError),
    /// The inventory or classifier cannot answer.
    #[error(transparent)]
    Resolve(#[from] NodeResolveError),
}

fn list_instances(instances: &[String]) -> String {
    let named = instances.iter().take(INSTANCES_NAMED);
    let named: Vec<&str> = named.map(String::as_str).collect();
    match instances.len().saturating_sub(INSTANCES_NAMED) {
        _ if named.is_empty() => "; its site declares none".to_owned(),
        0 => format!("; there are {}", named.join(", ")),
        more => format!("; there are {} and {more} more", named.join(", ")),
    }
}

/// The sources that scopes are resolved with, for one job.
///
/// The applications are those of the first request, so nodes and their order are of the same code.
pub(crate) struct TargetSources<'a> {
    nodes: &'a dyn NodeResolver,
    applications: &'a dyn ApplicationGraphs,
    code_id: Option<&'a CodeId>,
    owner: &'a str,
    found: OnceCell<Option<Arc<EnvironmentApplications>>>,
}

/// Resolves a scope to its nodes.
pub(crate) async fn resolve_targets(
    scope: &NodeScope,
    environment: Option<&EnvironmentName>,
    sources: &TargetSources<'_>,
) -> Result<Vec<Certname>, ScopeError> {
    let resolve = sources.nodes;
    let found = match scope {
        NodeScope::Nodes(names) => return deduplicate_names(names.iter().cloned()),
        NodeScope::Query(query) => resolve.query_certnames(query).await?,
        NodeScope::NodeGroup(group) => resolve.nodes_of_group(group).await?,
        NodeScope::Application(selector) => {
            let environment = environment.ok_or(ScopeError::ApplicationWithoutEnvironment)?;
            let nodes = sources.application_nodes(environment, selector).await?;
            return deduplicate_names(nodes.into_iter());
        }
        NodeScope::WholeEnvironment => {
            let environment = environment.ok_or(ScopeError::NoEnvironment)?;
            resolve.nodes_of_environment(environment.as_str()).await?
        }
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
            let name = environment.map(ToString::to_string);
            Err(ScopeError::EmptyEnvironment(name.unwrap_or_default()))
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

// === impl TargetSources ===

impl<'a> TargetSources<'a> {
    /// Sources for a job of the user with the id `owner`, in this version of its environment's code; `None`: the live
    /// one.
    pub(crate) fn new(
        nodes: &'a dyn NodeResolver,
        applications: &'a dyn ApplicationGraphs,
        code_id: Option<&'a CodeId>,
        owner: &'a str,
    ) -> Self {
        let found = OnceCell::new();
        Self {
            nodes,
            applications,
            code_id,
            owner,
            found,
        }
    }

    /// The applications of the job's environment; `None` if it has not enabled them.
    pub(crate) async fn environment_applications(
        &self,
        environment: &EnvironmentName,
    ) -> Result<Option<Arc<EnvironmentApplications>>, ApplicationGraphError> {
        let read = || async {
            let source = self.applications;
            let found = source.applications(environment, self.code_id, self.owner);
            Ok(found.await?.map(Arc::new))
        };
        self.found.get_or_try_init(read).await.cloned()
    }

    async fn application_nodes(
        &self,
        environment: &EnvironmentName,
        selector: &ApplicationSelector,
    ) -> Result<Vec<Certname>, ScopeError> {
        let found = self.environment_applications(environment).await?;
        let disabled = || ScopeError::ApplicationsDisabled(environment.to_string());
        let applications = found.ok_or_else(disabled)?;
        let nodes: Vec<Certname> = applications.nodes_of(selector).cloned().collect();
        if nodes.is_empty() {
            let instances = applications.instances.iter();
            return Err(ScopeError::UnknownApplication {
                environment: environment.to_string(),
                selector: selector.clone(),
                instances: instances.map(|it| it.reference.clone()).collect(),
            });
        }
        Ok(nodes)
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
            Self::Application(selector) => json!({ "application": selector.to_string() }),
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
    use crate::applications::NoApplications;
    use crate::resolve::EmptyResolver;

    fn names(names: &[&str]) -> Vec<Certname> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    async fn resolve(
        scope: &NodeScope,
        environment: Option<&str>,
    ) -> Result<Vec<Certname>, ScopeError> {
        let environment = environment.map(|name| name.parse().unwrap());
        let sources = TargetSources::new(&EmptyResolver, &NoApplications, None, "");
        resolve_targets(scope, environment.as_ref(), &sources).await
    }

    #[tokio::test]
    async fn names_count_once_in_their_order() {
        let scope = NodeScope::Nodes(names(&["b", "a", "b"]));
        let nodes = resolve(&scope, None).await.unwrap();
        assert_eq!(nodes, names(&["b", "a"]));
        assert_eq!(scope.to_shown_value(&nodes), json!({"nodes": ["b", "a"]}));
    }

    #[tokio::test]
    async fn nothing_and_too_much_are_refused() {
        let none = resolve(&NodeScope::default(), None).await;
        assert!(matches!(none, Err(ScopeError::EmptyTarget)));
        let all: Vec<Certname> = (0..=SCOPE_NODES)
            .map(|n| format!("n{n}").parse().unwrap())
            .collect();
        let many = resolve(&NodeScope::Nodes(all), None).await;
        assert!(matches!(many, Err(ScopeError::TooManyNodes(count)) if count == SCOPE_NODES + 1));
    }

    #[tokio::test]
    async fn whole_environments_and_applications_need_an_environment() {
        let refused = resolve(&NodeScope::WholeEnvironment, None).await;
        assert!(matches!(refused, Err(ScopeError::NoEnvironment)));
        let refused = resolve(&NodeScope::WholeEnvironment, Some("production")).await;
        assert!(matches!(refused, Err(ScopeError::Resolve(_))));
        let lamp = NodeScope::Application("Lamp".parse().unwrap());
        let refused = resolve(&lamp, None).await;
        assert!(matches!(
            refused,
            Err(ScopeError::ApplicationWithoutEnvironment)
        ));
        let refused = resolve(&lamp, Some("production")).await;
        assert!(
            matches!(refused, Err(ScopeError::ApplicationsDisabled(name)) if name == "production")
        );
    }
}
