//! Errors of a catalog for an agent: [`AgentCatalogError`].

use std::io;

use catalogs::CatalogError;
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
    #[error("the facts of {certname} cannot be read")]
    FactSource {
        certname: Certname,
        source: QueryError,
    },
    #[error("a thread of this server ended unexpectedly")]
    Thread(#[source] io::Error),
}
