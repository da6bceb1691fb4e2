//! Errors of the engine: [`CatalogError`].

use classifier::{FactSourceError, GroupConflict};
use compiler::{ApplicationGraphError, CompileError};
use environments::{CodeError, EnvironmentName};
use error_causes::chain;
use pcp::Certname;

use super::queue::CompileQueueFull;
use crate::capabilities::KeepCapabilitiesError;
use crate::environment::{EnvironmentListingError, EnvironmentReadError};
use crate::exports::KeepExportsError;
use crate::shadow::CatalogRequestError;

/// Reason that there is no catalog of a node.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The code of the node cannot be compiled.
    #[error(transparent)]
    Compile(Box<CompileError>),
    /// A puppetserver compiled the node, and reports this error.
    #[error("{0}")]
    PuppetserverCompile(String),
    /// The catalog has a value that no agent can read.
    #[error("the catalog of {certname} cannot be written: {cause}")]
    Document { certname: String, cause: String },
    #[error(
        "no facts of {certname} are known: neither its agent nor PuppetDB reported any; connect the agent, or \
         give facts with the request"
    )]
    NoFacts { certname: Certname },
    #[error("{}", chain(.0))]
    FactSource(#[source] FactSourceError),
    #[error("the node groups of {} contradict each other; `tutti node-group classify` shows how", .0.certname)]
    Classification(Box<GroupConflict>),
    /// The environment that a node group or the agent names is no valid name.
    #[error("the environment of {certname}, from {origin}, has no valid name: {name:?}")]
    EnvironmentName {
        certname: Certname,
        name: String,
        origin: &'static str,
    },
    #[error(transparent)]
    Code(CodeError),
    #[error("the environment {environment} cannot be read: {}", chain(.source))]
    Environment {
        environment: EnvironmentName,
        source: EnvironmentReadError,
    },
    #[error("the content of the environment {environment} cannot be listed: {source}")]
    Listing {
        environment: EnvironmentName,
        source: EnvironmentListingError,
    },
    #[error(transparent)]
    QueueFull(CompileQueueFull),
    #[error(
        "no compilation could begin within {seconds} s, because others run; try again later, or raise \
         catalogs.concurrent_compiles"
    )]
    WaitedTooLong { seconds: u64 },
    #[error(
        "the version {code_id} of {environment} was removed while it was compiled; compile another one"
    )]
    VersionRemoved {
        environment: EnvironmentName,
        code_id: String,
    },
    /// The configuration chooses a puppetserver, and another version than the live one is requested.
    #[error(
        "{certname} is compiled by a puppetserver ({reason}), which compiles only the live version"
    )]
    OnlyLive { certname: Certname, reason: String },
    #[error(transparent)]
    Puppetserver(CatalogRequestError),
    #[error("the server is shutting down")]
    Stopping,
    #[error(
        "the exported resources of {certname} are not kept here, because [puppetdb] of the configuration has \
         those of all nodes"
    )]
    ExportsElsewhere { certname: Certname },
    #[error(
        "exported resources are kept only from the catalog that the agent of {certname} would get: name no \
         version, no facts, and no environment other than {environment}"
    )]
    ExportsOfOtherCatalog {
        certname: Certname,
        environment: EnvironmentName,
    },
    #[error(
        "the exported resources of {certname} are not kept here: a puppetserver compiles it ({reason})"
    )]
    ExportsOfPuppetserver { certname: Certname, reason: String },
    #[error("{}", chain(.0))]
    KeepExports(#[source] KeepExportsError),
    #[error("{}", chain(.0))]
    KeepCapabilities(#[source] KeepCapabilitiesError),
    /// The applications of an environment; Puppet's message.
    #[error(transparent)]
    Graph(Box<ApplicationGraphError>),
    /// A defect of this program.
    #[error("the compilation of {certname} ended unexpectedly: {cause}")]
    Defect { certname: String, cause: String },
    /// The configuration chooses a puppetserver that it does not name.
    #[error(
        "{certname} is compiled by a puppetserver, but the configuration names no [puppetserver]"
    )]
    NoPuppetserver { certname: Certname },
}
