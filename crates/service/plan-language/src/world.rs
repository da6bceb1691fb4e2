//! The services that plans use. Main types: [`PlanServices`], [`NodeQueries`],
//! [`ApplyCompiler`].
//!
//! Invariant: these services are used only within a step.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use compiler::CompileRequest;
use convergence::passes::PassPlanner;
use convergence::{ImportedData, RerunLimiter};
use environments::{BlobStore, CodeReader};
use evaluator::{ParseCache, SharedBytes};
use serde_json::Value as Json;
use serde_json::value::RawValue;

/// The services that all plans of a server share. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PlanServices {
    pub code: Arc<dyn CodeReader>,
    /// Contents of files that plans have read, by hash.
    pub blobs: BlobStore,
    pub nodes: Arc<dyn NodeQueries>,
    /// Data of other nodes in catalogs, which repeated runs of Puppet compare.
    pub imported_data: Arc<dyn ImportedData>,
    /// The reruns of all jobs, which repeated runs of Puppet share.
    pub reruns: Arc<RerunLimiter>,
    /// Plans the passes in which nodes of applications run Puppet.
    pub pass_planner: Arc<dyn PassPlanner>,
    /// Compiles the catalogs of `apply` blocks, in a queue that all plans share.
    pub apply_compiler: Arc<dyn ApplyCompiler>,
    /// Code files, parsed once for all plans.
    pub parsed: Arc<ParseCache>,
    /// Budget of memory for the values of all plans together.
    pub shared_bytes: Arc<SharedBytes>,
    /// Data files, parsed once for all plans.
    pub data: Arc<lookup::DataFileCache>,
    /// Path of the `hiera.yaml` of the global layer, even if the file does not exist; `None` for no
    /// such layer.
    pub hiera_config: Option<PathBuf>,
}

/// Compiler of the catalogs of `apply` blocks.
#[async_trait]
pub trait ApplyCompiler: std::fmt::Debug + Send + Sync {
    /// Opens a code version of an environment for the plans of `owner`; `None` for the live one. The error
    /// is a message.
    async fn open(
        &self,
        owner: &PlanOwner,
        environment: &str,
        code_id: Option<&str>,
    ) -> Result<Box<dyn ApplyEnvironment>, String>;
}

/// An open code version, whose catalogs share what was read. It is not removed as long as this exists.
#[async_trait]
pub trait ApplyEnvironment: Send + Sync {
    /// Compiles one catalog, and returns it as JSON in rich data, or the message of the error. Waits
    /// while too many compile.
    async fn compile(&self, request: CompileRequest) -> Result<Box<RawValue>, String>;
}

/// The user with whose permissions a plan queries nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanOwner {
    /// Login when the plan was started.
    pub login: String,
    /// Id of the user.
    pub id: String,
}

/// Queries about nodes. Each is answered with the permissions that the plan's owner has at that
/// moment.
#[async_trait]
pub trait NodeQueries: std::fmt::Debug + Send + Sync {
    /// Returns the rows of a PuppetDB query: a string is PQL, a list is the AST.
    async fn query(&self, owner: &PlanOwner, query: &Json) -> Result<Vec<Json>, NodesError>;

    /// Returns the certnames of a node group, which is given by name or id.
    async fn group(&self, owner: &PlanOwner, group: &str) -> Result<Vec<String>, NodesError>;

    /// Returns for each node, in the order given, true if it is reachable now.
    async fn available(&self, certnames: &[String]) -> Vec<bool>;
}

/// The reason why a query about nodes failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NodesError(pub String);
