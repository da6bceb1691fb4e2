//! What the engine asks of those who know nodes: PuppetDB or the embedded inventory, and the
//! classifier.
//!
//! [`Resolve`] is the one interface, [`Nobody`] a server that has neither. The rule: whoever cannot
//! answer says why; an empty answer means that there is nothing.

use std::fmt;

use async_trait::async_trait;
use pcp::Certname;
use pxp::action::CodeId;
use serde_json::{Map, Value};
use store::JobNumber;

/// Those who know nodes.
#[async_trait]
pub trait Resolve: fmt::Debug + Send + Sync {
    /// The certnames of the rows that a query gives: a string is PQL, an array PuppetDB's AST.
    async fn query(&self, query: &Value) -> Result<Vec<String>, ResolveError>;

    /// The nodes that the rules of a node group match. The group must have rules of its own.
    async fn node_group(&self, group: &str) -> Result<Vec<String>, ResolveError>;

    /// The nodes of an environment.
    async fn whole_environment(&self, environment: &str) -> Result<Vec<String>, ResolveError>;

    /// The environment that each node is classified into, in the order asked.
    async fn environments(&self, nodes: &[Certname]) -> Result<Vec<Classified>, ResolveError>;

    /// The environment of the last Puppet run of each node, in the order asked; `None`: nothing is
    /// known of the node.
    async fn last_environments(
        &self,
        nodes: &[Certname],
    ) -> Result<Vec<Option<String>>, ResolveError> {
        Ok(vec![None; nodes.len()])
    }

    /// The version of Puppet that each node told of last, in the order asked; `None`: nobody knows.
    async fn puppet_versions(
        &self,
        nodes: &[Certname],
    ) -> Result<Vec<Option<String>>, ResolveError> {
        Ok(vec![None; nodes.len()])
    }

    /// What must be done before what, within an environment: the edges of application orchestration.
    /// Nodes without an edge are independent, as all are by default.
    async fn environment_graph(
        &self,
        _environment: &str,
        _nodes: &[Certname],
    ) -> Result<EnvironmentGraph, ResolveError> {
        Ok(EnvironmentGraph::default())
    }

    /// What is known of a Puppet run by its report, beyond what the agent said; and the place to
    /// keep what the agent said. Called before the run's end is written, and again after a crash.
    async fn report(&self, run: &PuppetRun) -> Result<Option<RunReport>, ResolveError>;
}

/// What the classifier says of a node's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Classified {
    /// Nobody says, and the agent's own configuration holds.
    Nowhere,
    /// The node belongs into this one.
    Into(String),
    /// Its groups do not agree, so it gets nothing; the words name what they say, without secrets.
    Conflict(String),
}

/// Which nodes wait for which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvironmentGraph {
    /// `(first, then)`: the second starts when the first has finished.
    pub edges: Vec<(Certname, Certname)>,
}

/// A Puppet run as its agent told it.
#[derive(Clone, Debug, PartialEq)]
pub struct PuppetRun {
    /// The node.
    pub certname: Certname,
    /// Which job it is of.
    pub job: JobNumber,
    /// The run's own id, which Puppet makes; in its report, too.
    pub transaction_uuid: String,
    /// `changed`, `unchanged` or `failed`.
    pub status: String,
    /// The environment that was used.
    pub environment: Option<String>,
    /// The version of the catalog.
    pub configuration_version: Option<String>,
    /// Which version of the code the catalog is of.
    pub code_id: Option<CodeId>,
    /// The resources' figures by name: `total`, `changed`, `failed` …
    pub metrics: Map<String, Value>,
    /// When it began, in RFC 3339 as the agent wrote it.
    pub time: Option<String>,
    /// Whether the run was asked to change nothing.
    pub noop: bool,
}

/// What a report adds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunReport {
    /// By which PuppetDB knows the report.
    pub hash: Option<String>,
    /// The version of the catalog.
    pub configuration_version: Option<String>,
    /// Which version of the code the catalog is of.
    pub code_id: Option<CodeId>,
    /// The environment that was used.
    pub environment: Option<String>,
    /// Events that were held back, and those that were not.
    pub noop: Option<(u64, u64)>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// Nobody here can be asked this.
    #[error("this server has no {0}; name the nodes in scope.nodes")]
    Missing(&'static str),
    /// The query is wrong.
    #[error("the query cannot be answered: {0}")]
    Query(String),
    /// PuppetDB does not answer.
    #[error("PuppetDB cannot be asked: {0}")]
    Unreachable(String),
    /// Too much is asked of the inventory at once, which passes.
    #[error("the nodes cannot be looked up now: {0}")]
    Busy(String),
    /// No group has this id.
    #[error("there is no node group {0}; `tutti node-group list --ids` shows those there are")]
    UnknownGroup(String),
    /// The group has no rules, so nobody can be in it.
    #[error(
        "the node group {0} has no rules of its own, so no node is in it; give it rules, or name the \
         nodes in scope.nodes"
    )]
    NoRules(String),
    /// The server's own fault; the log says what.
    #[error("{0}")]
    Broken(String),
}

/// A server that has neither an inventory nor a classifier.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

#[async_trait]
impl Resolve for Nobody {
    async fn query(&self, _: &Value) -> Result<Vec<String>, ResolveError> {
        let why =
            "this server has no PuppetDB and no inventory to ask; name the nodes in scope.nodes";
        Err(ResolveError::Query(why.to_owned()))
    }

    async fn node_group(&self, _: &str) -> Result<Vec<String>, ResolveError> {
        Err(ResolveError::Missing("classifier with node groups"))
    }

    async fn whole_environment(&self, _: &str) -> Result<Vec<String>, ResolveError> {
        Err(ResolveError::Missing(
            "inventory that knows the nodes of an environment",
        ))
    }

    async fn environments(&self, nodes: &[Certname]) -> Result<Vec<Classified>, ResolveError> {
        Ok(vec![Classified::Nowhere; nodes.len()])
    }

    async fn report(&self, _: &PuppetRun) -> Result<Option<RunReport>, ResolveError> {
        Ok(None)
    }
}
