//! Errors of a catalog for an agent: [`AgentCatalogError`].

use std::io;

use catalogs::CatalogError;
use compiler::CompileError;
use environments::Sha256;
use inventory::QueryError;
use pcp::Certname;

use crate::StaticFileError;

/// Reason that an agent gets no catalog.
#[derive(Debug, thiserror::Error)]
pub enum AgentCatalogError {
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error("{0}")]
    StaticFile(#[from] StaticFileError),
    #[error("{certname} sent no facts with its request, and none before")]
    NoFacts { certname: Certname },
    /// The code of a block cannot be compiled, possibly because variables are missing.
    #[error("{error}; these variables of the plan are not set: {variables}")]
    UnreadVariables {
        error: Box<CompileError>,
        /// Names, each with the type of its value.
        variables: String,
    },
    /// The configuration chooses a puppetserver for the node.
    #[error(
        "the catalogs of {certname} are compiled by a puppetserver ({reason}); point its agent to that server, or \
         set puppetserver.front = true so that this server passes its requests"
    )]
    OfPuppetserver { certname: Certname, reason: String },
    #[error("the facts of {certname} cannot be read")]
    FactSource {
        certname: Certname,
        source: QueryError,
    },
    #[error(
        "the content {sha256} is not on this server any more, because files of a version were changed; run the \
         agent again"
    )]
    ContentChanged { sha256: Sha256 },
    #[error("a thread of this server ended unexpectedly")]
    Thread(#[source] io::Error),
}
