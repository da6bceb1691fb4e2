//! Queries of manifests to PuppetDB: [`PuppetdbQueries`].
//!
//! Invariant: a query and its rows are plain data.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::interrupt::CompileInterrupt;

/// Source of answers to the function `puppetdb_query`.
pub trait PuppetdbQueries: Send + Sync {
    /// The rows that a query finds. The query is a text in PQL or an array in AST form. `interrupt` ends it
    /// early.
    fn rows(
        &self,
        query: &Json,
        interrupt: Option<&Arc<CompileInterrupt>>,
    ) -> Result<Vec<Json>, PuppetdbQueryError>;
}

/// Error of a query; it names the server and the cause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PuppetdbQueryError(pub String);
