//! Catalogs that the server compiles: `/tutti/v1/catalogs`, `/tutti/v1/code/impact`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{Object, strict};

/// Body of `POST /tutti/v1/catalogs/compile`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CatalogCompileCommand {
    /// Certname of the node.
    #[schema(example = "web1.example.com")]
    pub node: String,
    /// Name of the environment; absent: that of the node groups, or else of the node's agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// First digits of a version of the environment; absent: the live version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Facts by name; absent: those that the inventory has of the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<Object>,
    /// True to keep the exported resources of the catalog, so that other nodes collect them. Needs a
    /// server without a PuppetDB, and the node's own catalog: no version, no facts, and no environment other
    /// than that of the node.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub keep_exports: bool,
}

/// A catalog with the circumstances of its compilation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CompiledCatalogReply {
    /// Certname of the node.
    pub node: String,
    /// Name of the environment.
    pub environment: String,
    /// Code id of the version; null if the environment has no versions.
    pub code_id: Option<String>,
    /// The compiler that made the catalog.
    pub compiler: CatalogCompilerChoice,
    /// The catalog as an agent receives it. Sensitive values are in clear.
    #[schema(value_type = Object)]
    pub catalog: Value,
    /// Messages of the manifests and of the compiler.
    pub messages: Vec<CompileMessage>,
    /// Code in Ruby that was called.
    pub ruby_calls: Vec<RubyCallCount>,
    /// Milliseconds until a slot was free.
    pub waited_ms: u64,
    /// Milliseconds of the compilation.
    pub compiled_ms: u64,
}

/// The compiler of a node, as the configuration chooses it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CatalogCompilerChoice {
    /// Name of the compiler: `native` or `puppetserver`.
    #[schema(example = "native")]
    pub name: String,
    /// Reason in the configuration; empty for the default.
    pub reason: String,
}

/// A message of a compilation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CompileMessage {
    /// Level of the message, as Puppet names it.
    #[schema(example = "warning")]
    pub level: String,
    /// Text of the message.
    pub message: String,
    /// Place in the code, as Puppet writes it; may be empty.
    pub place: String,
}

/// Calls of a function or template in Ruby.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RubyCallCount {
    /// Name of the function, or path of the template.
    pub name: String,
    /// Number of calls in the compilation.
    pub calls: u64,
    /// Milliseconds of all calls.
    pub total_ms: f64,
}

/// Body of `POST /tutti/v1/code/impact`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeImpactCommand {
    /// Name of the environment with the change.
    pub environment: String,
    /// First digits of its version; absent: the live version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Environment to compare with; absent: the same environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_environment: Option<String>,
    /// First digits of the version to compare with; absent: the live version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_version: Option<String>,
    /// Certnames of the nodes, at most 25 in a request.
    #[serde(deserialize_with = "strict::null_is_default")]
    pub nodes: Vec<String>,
}

/// Changes of catalogs between two versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeImpactReply {
    /// Code id of the version with the change; null if the environment has no versions.
    pub code_id: Option<String>,
    /// Code id of the version to compare with; null if its environment has no versions.
    pub against_code_id: Option<String>,
    /// Number of nodes with equal catalogs.
    pub equal: usize,
    /// Nodes with the same changes.
    pub groups: Vec<CodeImpactGroup>,
}

/// Nodes whose catalogs change in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeImpactGroup {
    /// True if a catalog of the nodes cannot be compiled.
    pub error: bool,
    /// A line for each changed resource, without values, or the error.
    #[schema(example = json!(["~ File[/etc/motd] content"]))]
    pub changes: Vec<String>,
    /// Certnames of the nodes.
    pub nodes: Vec<String>,
}
