//! The interface through which the engine looks up nodes: PuppetDB or the embedded inventory, and
//! the classifier.
//!
//! [`NodeResolver`] is the one interface, also for a server that has neither. Invariant: a source that
//! cannot answer returns the reason; an empty answer means that there is nothing.

use std::fmt;

use async_trait::async_trait;
use pcp::Certname;
use pxp::action::CodeId;
use serde_json::{Map, Value};
use store::JobNumber;

/// Source of knowledge about nodes: inventory and classifier.
#[async_trait]
pub trait NodeResolver: fmt::Debug + Send + Sync {
    /// The certnames of the rows that a query gives: a string is PQL, an array PuppetDB's AST.
    async fn query_certnames(&self, query: &Value) -> Result<Vec<String>, NodeResolveError>;

    /// The nodes that the rules of a node group match. The group must have rules of its own.
    async fn nodes_of_group(&self, group: &str) -> Result<Vec<String>, NodeResolveError>;

    /// The nodes of an environment.
    async fn nodes_of_environment(
        &self,
        environment: &str,
    ) -> Result<Vec<String>, NodeResolveError>;

    /// The environment that each node is classified into, in the order asked.
    async fn classified_environments(
        &self,
        nodes: &[Certname],
    ) -> Result<Vec<NodeEnvironment>, NodeResolveError>;

    /// The environment of the last Puppet run of each node, in the order asked; `None`: nothing is
    /// known of the node.
    async fn last_environments(
        &self,
        nodes: &[Certname],
    ) -> Result<Vec<Option<String>>, NodeResolveError> {
        Ok(vec![None; nodes.len()])
    }

    /// The Puppet version that each node last reported, in the order asked; `None` if it is
    /// unknown.
    async fn puppet_versions(
        &self,
        nodes: &[Certname],
    ) -> Result<Vec<Option<String>>, NodeResolveError> {
        Ok(vec![None; nodes.len()])
    }

    /// Facts about a Puppet run that its report adds to the agent's answer; the implementation may
    /// also store that answer. Called before the run's end is written, and again after a crash.
    async fn find_report(
        &self,
        run: &PuppetRun,
    ) -> Result<Option<PuppetReportSummary>, NodeResolveError>;
}

/// A node's environment according to the classifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeEnvironment {
    /// No group sets an environment, and the agent's own configuration holds.
    Nowhere,
    /// The environment that the node is classified into.
    Into(String),
    /// The node's groups do not agree, so it gets no environment; the text names the conflict,
    /// without secrets.
    Conflict(String),
}

/// A Puppet run as reported by its agent.
#[derive(Clone, Debug, PartialEq)]
pub struct PuppetRun {
    /// Certname of the node that ran Puppet.
    pub certname: Certname,
    /// Number of the job that the run belongs to.
    pub job: JobNumber,
    /// The run's own id, which Puppet makes and also writes into its report.
    pub transaction_uuid: String,
    /// `changed`, `unchanged` or `failed`.
    pub status: String,
    /// The environment that was used.
    pub environment: Option<String>,
    /// The version of the catalog.
    pub configuration_version: Option<String>,
    /// Code version that the catalog was compiled from.
    pub code_id: Option<CodeId>,
    /// The resources' figures by name: `total`, `changed`, `failed` …
    pub metrics: Map<String, Value>,
    /// Start of the run, in RFC 3339 as the agent wrote it.
    pub time: Option<String>,
    /// True if the run was requested with noop.
    pub noop: bool,
}

/// Facts about a Puppet run that only its report has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PuppetReportSummary {
    /// Hash that identifies the report in PuppetDB.
    pub hash: Option<String>,
    /// The version of the catalog.
    pub configuration_version: Option<String>,
    /// Code version that the catalog was compiled from.
    pub code_id: Option<CodeId>,
    /// The environment that was used.
    pub environment: Option<String>,
    /// Numbers of events that were held back by noop, and of those that were not.
    pub noop: Option<(u64, u64)>,
}

/// Reason that a lookup has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeResolveError {
    /// This server has no source for this kind of lookup.
    #[error("this server has no {0}; name the nodes in scope.nodes")]
    Missing(&'static str),
    /// The query is invalid.
    #[error("the query cannot be answered: {0}")]
    Query(String),
    /// PuppetDB does not answer.
    #[error("PuppetDB cannot be asked: {0}")]
    Unreachable(String),
    /// Too many lookups in the inventory at once; temporary.
    #[error("the nodes cannot be looked up now: {0}")]
    Busy(String),
    /// No group has this id.
    #[error("there is no node group {0}; `tutti node-group list --ids` shows those there are")]
    UnknownGroup(String),
    /// The group has no rules, so no node can match it.
    #[error(
        "the node group {0} has no rules of its own, so no node is in it; give it rules, or name the \
         nodes in scope.nodes"
    )]
    NoRules(String),
    /// Internal error of the server; the log has the cause.
    #[error("{0}")]
    Broken(String),
}

/// A server that has neither an inventory nor a classifier.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmptyResolver;

#[async_trait]
impl NodeResolver for EmptyResolver {
    async fn query_certnames(&self, _: &Value) -> Result<Vec<String>, NodeResolveError> {
        let why =
            "this server has no PuppetDB and no inventory to ask; name the nodes in scope.nodes";
        Err(NodeResolveError::Query(why.to_owned()))
    }

    async fn nodes_of_group(&self, _: &str) -> Result<Vec<String>, NodeResolveError> {
        Err(NodeResolveError::Missing("classifier with node groups"))
    }

    async fn nodes_of_environment(&self, _: &str) -> Result<Vec<String>, NodeResolveError> {
        Err(NodeResolveError::Missing(
            "inventory that knows the nodes of an environment",
        ))
    }

    async fn classified_environments(
        &self,
        nodes: &[Certname],
    ) -> Result<Vec<NodeEnvironment>, NodeResolveError> {
        Ok(vec![NodeEnvironment::Nowhere; nodes.len()])
    }

    async fn find_report(
        &self,
        _: &PuppetRun,
    ) -> Result<Option<PuppetReportSummary>, NodeResolveError> {
        Ok(None)
    }
}
