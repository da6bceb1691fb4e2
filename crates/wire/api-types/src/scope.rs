//! Which nodes a command is for.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::ApiError;

/// Exactly one of the keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// Certnames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<String>>,
    /// A PQL string or a `PuppetDB` AST array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub query: Option<Value>,
    /// The UUID of a node group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_group: Option<String>,
    /// `Type` or `Type[title]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    /// Every node of the environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_environment: Option<bool>,
}

/// The one key that a [`Scope`] has.
#[derive(Clone, Debug, PartialEq)]
pub enum ScopeKind {
    /// `nodes`
    Nodes(Vec<String>),
    /// `query`
    Query(Value),
    /// `node_group`
    NodeGroup(String),
    /// `application`
    Application(String),
    /// `whole_environment`
    WholeEnvironment,
}

impl Scope {
    /// A list of certnames.
    pub fn nodes(nodes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            nodes: Some(nodes.into_iter().map(Into::into).collect()),
            ..Self::default()
        }
    }

    /// The one key that is set.
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
                "one of the keys nodes, query, node_group is needed",
            )
        })
    }
}
