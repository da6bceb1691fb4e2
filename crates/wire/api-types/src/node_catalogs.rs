//! Catalogs that agents got from this server: `GET /tutti/v1/catalogs/{node}`.
//!
//! Invariant: no document has a value of a fact, a parameter or the result of a query.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::PreciseTimestamp;

/// Reply to `GET /tutti/v1/catalogs/{node}`: the newest catalog of a node, without its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeCatalogDocument {
    /// Certname of the node.
    pub node: String,
    /// The compilation of the catalog.
    pub compilation: CatalogCompilationItem,
    /// The catalog as it is kept; null if it is not kept.
    pub kept: Option<KeptCatalogItem>,
}

/// Reply to `GET /tutti/v1/catalogs/{node}/history`: the last compilations of a node, the newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CatalogHistory {
    /// Certname of the node.
    pub node: String,
    /// Compilations of the node.
    pub items: Vec<CatalogCompilationItem>,
}

/// A compilation of a node's catalog.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CatalogCompilationItem {
    /// Id of the catalog, which reports of its runs name as `catalog_uuid`.
    pub catalog_uuid: String,
    /// Environment of the catalog.
    pub environment: String,
    /// Code id of the version; null if the environment has none.
    pub code_id: Option<String>,
    /// Time of the compilation.
    pub time: PreciseTimestamp,
    /// Duration of the compilation in milliseconds, without the wait for others.
    pub milliseconds: u64,
    /// Bytes of the document.
    pub bytes: u64,
    /// Reason that the catalog is compiled for each request; null if it is not.
    pub volatile: Option<String>,
    /// True if it was compiled in advance, after a deployment.
    pub ahead: bool,
    /// Reasons that the catalog before was not given again.
    pub causes: Vec<CompileCauseItem>,
}

/// A reason for a compilation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CompileCauseItem {
    /// Kind of the reason: `no_catalog`, `code`, `facts`, `queries` and others.
    #[schema(example = "facts")]
    pub kind: String,
    /// The reason in a sentence.
    pub text: String,
    /// Facts, files or queries that differ.
    pub names: Vec<String>,
    /// Number of further ones.
    pub further: u64,
}

/// A kept catalog, and all that it depends on besides code, classification and certificate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct KeptCatalogItem {
    /// Time at which its agent got it last, to the day; null if it did not get it yet.
    pub used: Option<PreciseTimestamp>,
    /// Bytes of the compressed document.
    pub compressed_bytes: u64,
    /// Number of the contents that it names by hash.
    pub contents: u64,
    /// Facts that the code read, such as `os.family`.
    pub facts: Vec<String>,
    /// Keys of Hiera's data for which lookups of the code found values.
    #[serde(default)]
    pub hiera_keys: Vec<String>,
    /// Queries of the data of other nodes, as code has them.
    pub queries: Vec<String>,
    /// Files outside of the version; null if they cannot be compared, so that the catalog is compiled for each
    /// request.
    pub outside_files: Option<Vec<String>>,
}
