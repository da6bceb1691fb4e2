//! Scope of a command: the nodes that it is for.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::ApiError;

/// Nodes that a command is for; exactly one key must be set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// Certnames of the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<String>>,
    /// Query as a PQL string or a `PuppetDB` AST array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub query: Option<Value>,
    /// The UUID of a node group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_group: Option<String>,
    /// An application such as `Lamp`, for all its instances, or an instance such as `Lamp[app1]`: the nodes to which
    /// its components are mapped. It needs an environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    /// True for every node of the environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_environment: Option<bool>,
}

/// The one key that a [`Scope`] has, with its value.
#[derive(Clone, Debug, PartialEq)]
pub enum ScopeKind {
    /// Certnames, from the key `nodes`.
    Nodes(Vec<String>),
    /// Query, from the key `query`.
    Query(Value),
    /// UUID of the group, from the key `node_group`.
    NodeGroup(String),
    /// Application, from the key `application`.
    Application(String),
    /// All nodes, from the key `whole_environment`.
    WholeEnvironment,
}

impl Scope {
    /// Certnames of the nodes.
    pub fn nodes(nodes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            nodes: Some(nodes.into_iter().map(Into::into).collect()),
            ..Self::default()
        }
    }

    /// Returns the one key that is set.
    ///
    /// # Errors
    /// A validation error at `scope` when none or several are.
    pub fn into_kind(self) -> Result<ScopeKind, ApiError> {
        let mut given: Vec<(&str, ScopeKind)> = Vec::new();
        given.extend(self.nodes.map(|nodes| ("nodes", ScopeKind::Nodes(nodes))));
        given.extend(self.query.map(|query| ("query", ScopeKind::Query(query))));
        given.extend(
            self.node_group
                .map(|group| ("node_group", ScopeKind::NodeGroup(group))),
        );
        given.extend(
            self.application
                .map(|app| ("application", ScopeKind::Application(app))),
        );
        if self.whole_environment == Some(true) {
            given.push(("whole_environment", ScopeKind::WholeEnvironment));
        }
        if given.len() > 1 {
            let keys: Vec<_> = given.iter().map(|(key, _)| *key).collect();
            let what = format!("only one of these keys may be given: {}", keys.join(", "));
            return Err(ApiError::invalid("scope", what));
        }
        given.pop().map(|(_, kind)| kind).ok_or_else(|| {
            ApiError::invalid(
                "scope",
                "one of the keys nodes, query, node_group, application is needed",
            )
        })
    }
}
