//! The services that plans use. Main types: [`PlanServices`], [`NodeQueries`].
//!
//! Invariant: these services are used only from within a step.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use environments::{BlobStore, CodeReader};
use evaluator::{ParseCache, SharedBytes};
use serde_json::Value as Json;

/// The services that all plans of a server share. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PlanServices {
    pub code: Arc<dyn CodeReader>,
    /// The files that plans have read, under their hashes.
    pub blobs: BlobStore,
    pub nodes: Arc<dyn NodeQueries>,
    /// Files of code, parsed once for all plans.
    pub parsed: Arc<ParseCache>,
    /// Memory for the values of all plans together.
    pub shared_bytes: Arc<SharedBytes>,
    /// Files of data, parsed once for all plans.
    pub data: Arc<lookup::DataFileCache>,
    /// The `hiera.yaml` of the global layer, whether it exists or not; `None` for no such layer.
    pub hiera_config: Option<PathBuf>,
}

/// The user whose plan asks about nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanOwner {
    /// Login, as it was when the plan was started.
    pub login: String,
    /// Id of the user.
    pub id: String,
}

/// Those who know nodes. An answer is given with the rights that the plan's owner has at that
/// moment.
#[async_trait]
pub trait NodeQueries: std::fmt::Debug + Send + Sync {
    /// The rows of a query to PuppetDB: a text is PQL, a list the AST.
    async fn query(&self, owner: &PlanOwner, query: &Json) -> Result<Vec<Json>, NodesError>;

    /// The nodes of a node group, by its name or its id.
    async fn group(&self, owner: &PlanOwner, group: &str) -> Result<Vec<String>, NodesError>;

    /// For each node, true if it can be reached now, in the order of the request.
    async fn available(&self, certnames: &[String]) -> Vec<bool>;
}

/// The reason why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NodesError(pub String);
