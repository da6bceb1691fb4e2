//! A collector as the compilation keeps it: [`Collector`].

use std::sync::Arc;

use evaluator::{CatalogScopeId, CollectorQuery, ResourceAttribute, SourceLocation};
use indexmap::IndexSet;

use crate::catalog::ResourceId;

/// A collector.
#[derive(Debug)]
pub(crate) struct Collector {
    pub(crate) kind: CollectorKind,
    /// The collected resources, in order.
    pub(crate) collected: IndexSet<ResourceId>,
    /// Resources of other nodes that the collector added to the catalog.
    pub(crate) foreign: Vec<ResourceId>,
    /// True once resources of other nodes were searched; a collector searches once.
    pub(crate) is_searched: bool,
}

#[derive(Debug)]
pub(crate) enum CollectorKind {
    /// Resources of a type that a query accepts.
    Query {
        type_name: Arc<str>,
        is_exported: bool,
        query: Option<CollectorQuery>,
        attributes: Vec<ResourceAttribute>,
        scope: CatalogScopeId,
        location: SourceLocation,
    },
    /// The resources of `realize` that are not found yet, as type and title.
    Realize { missing: Vec<(Arc<str>, Arc<str>)> },
}
