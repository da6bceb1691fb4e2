//! State of a compilation: [`CompileState`].

use std::sync::Arc;

use evaluator::{
    CatalogRelationship, CatalogScopeId, RelationshipOperand, ResourceAttribute, SourceLocation,
    VariableScope,
};

use pcore::{FastHashMap, FastHashSet, FastIndexMap};

use crate::applications::ApplicationState;
use crate::catalog::{Catalog, CatalogResource, ResourceId, ResourceKind, ResourceSource};
use crate::catalog_reads::VolatileCause;
use crate::collector::Collector;
use crate::data_queries::{DataQuery, DataQueryResult};
use crate::defaults::{self, DATA_QUERIES_MAX, DATA_QUERY_BYTES_MAX};
use crate::environment::{ClassDefinition, DefinedType, ManifestDefinitions};
use crate::request::CompileLog;
use crate::ruby::RubyCalls;
use crate::scope::{CompileScope, ScopeKind, SourceRecord};

/// Attributes for a resource that may not be declared yet.
#[derive(Debug)]
pub(crate) struct PendingOverride {
    pub(crate) attributes: Vec<ResourceAttribute>,
    pub(crate) source: ResourceSource,
    pub(crate) location: SourceLocation,
}

/// Everything that a compilation changes.
#[derive(Debug)]
pub(crate) struct CompileState {
    pub(crate) catalog: Catalog,
    pub(crate) scopes: Vec<CompileScope>,
    pub(crate) sources: Vec<SourceRecord>,
    pub(crate) sources_by_name: FastHashMap<String, ResourceSource>,
    /// Scopes of evaluated classes by name.
    pub(crate) class_scopes: FastHashMap<Arc<str>, CatalogScopeId>,
    /// Scope of the node block; the top scope without one.
    pub(crate) node_scope: CatalogScopeId,
    /// Remaining size of the catalog.
    pub(crate) units_left: u64,
    /// True once a scope has resource defaults, so that most compilations need not look for any.
    pub(crate) has_defaults: bool,
    /// Classes and defined resources that are not evaluated yet.
    pub(crate) unevaluated: Vec<ResourceId>,
    pub(crate) collectors: Vec<Collector>,
    /// Indices of the collectors that still run in every round.
    pub(crate) active_collectors: Vec<u32>,
    pub(crate) alternatives: FastHashMap<u32, Vec<RelationshipOperand>>,
    /// Overrides of resources that are not declared yet, by type and title.
    pub(crate) pending_overrides: FastIndexMap<(Arc<str>, Arc<str>), Vec<PendingOverride>>,
    pub(crate) relationships: Vec<CatalogRelationship>,
    /// Certnames of the nodes that export the collected resources.
    pub(crate) collected_exports: FastHashMap<ResourceId, String>,
    pub(crate) known_classes: FastHashMap<String, Option<Arc<ClassDefinition>>>,
    pub(crate) known_defined_types: FastHashMap<String, Option<Arc<DefinedType>>>,
    /// Types of declarations by their names as written, with the names in references.
    pub(crate) declared_types: FastHashMap<Arc<str>, (Arc<str>, ResourceKind)>,
    /// Manifests of modules whose functions and types are known, by their keys.
    pub(crate) registered_manifests: FastHashSet<usize>,
    pub(crate) site: Arc<[Arc<ManifestDefinitions>]>,
    pub(crate) logs: Vec<CompileLog>,
    pub(crate) ruby_calls: RubyCalls,
    pub(crate) further_errors: Vec<String>,
    /// Queries of other nodes' data with their results.
    pub(crate) data_queries: Vec<DataQueryResult>,
    /// First source of data that changes without notice.
    pub(crate) volatile: Option<VolatileCause>,
    pub(crate) applications: ApplicationState,
}

/// Class[main], the first resource that manifests may add to. Stage[main] and Class[Settings] come
/// before it; neither is collected or finished.
pub(crate) const MAIN: ResourceId = ResourceId(2);

impl CompileState {
    /// Records that the catalog depends on data that change without notice.
    pub(crate) fn add_volatile(&mut self, cause: VolatileCause) {
        self.volatile.get_or_insert(cause);
    }

    /// Records the result of a query. The catalog is compiled each time, for this cause, if that cannot be:
    /// the query or the result has no form in JSON, there are too many queries, or the result of the same
    /// query was another one before.
    pub(crate) fn record_query(
        &mut self,
        query: Option<DataQuery>,
        digest: Option<String>,
        cause: VolatileCause,
    ) {
        let (Some(query), Some(digest)) = (query, digest) else {
            return self.add_volatile(cause);
        };
        if let Some(known) = self.data_queries.iter().find(|it| it.query == query) {
            if known.digest != digest {
                self.add_volatile(cause);
            }
            return;
        }
        if self.data_queries.len() >= DATA_QUERIES_MAX || query.byte_len() > DATA_QUERY_BYTES_MAX {
            return self.add_volatile(cause);
        }
        self.data_queries.push(DataQueryResult { query, digest });
    }

    pub(crate) fn new() -> Self {
        let top = CompileScope {
            parent: None,
            kind: ScopeKind::Top,
            source: ResourceSource(0),
            resource: MAIN,
            variables: VariableScope::top(),
            defaults: FastHashMap::default(),
            module: None,
        };
        let main = SourceRecord {
            parent: None,
            overrides_all: false,
        };
        Self {
            catalog: Catalog::default(),
            scopes: vec![top],
            sources: vec![main],
            sources_by_name: FastHashMap::default(),
            class_scopes: FastHashMap::default(),
            node_scope: CatalogScopeId::TOP,
            units_left: defaults::CATALOG_UNITS_MAX,
            has_defaults: false,
            unevaluated: Vec::new(),
            collectors: Vec::new(),
            active_collectors: Vec::new(),
            alternatives: FastHashMap::default(),
            pending_overrides: FastIndexMap::default(),
            relationships: Vec::new(),
            collected_exports: FastHashMap::default(),
            data_queries: Vec::new(),
            known_classes: FastHashMap::default(),
            known_defined_types: FastHashMap::default(),
            declared_types: FastHashMap::default(),
            registered_manifests: FastHashSet::default(),
            site: Arc::new([]),
            logs: Vec::new(),
            ruby_calls: RubyCalls::default(),
            further_errors: Vec::new(),
            volatile: None,
            applications: ApplicationState::default(),
        }
    }

    pub(crate) fn add_first(
        &mut self,
        type_name: &str,
        title: &str,
        kind: ResourceKind,
    ) -> ResourceId {
        let owner = (CatalogScopeId::TOP, ResourceSource(0));
        let mut resource = CatalogResource::new(type_name.into(), title.into(), kind, owner);
        resource.add_own_tags();
        resource.is_evaluated = true;
        self.catalog.push(resource)
    }
}
