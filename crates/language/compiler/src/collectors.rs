//! Collectors: `Type <| query |>`, `Type <<| query |>>`, and `realize`.
//!
//! Invariant: a collector never collects a resource twice, and its overrides reach each resource
//! once.

use std::collections::HashSet;
use std::sync::Arc;

use evaluator::{
    CatalogScopeId, CollectorDeclaration, CollectorQuery, EvalResult, Evaluator, LogLevel,
    ResourceAttribute, SourceLocation, raise,
};
use indexmap::IndexSet;
use pcore::Value;

use crate::catalog::{CatalogResource, ResourceId};
use crate::collector::{Collector, CollectorKind};
use crate::compilation::Compilation;
use crate::names::reference_name;
use crate::state::{CompileState, MAIN};

/// Attributes that a collector sets on what it collects.
struct CollectorChange {
    attributes: Vec<ResourceAttribute>,
    scope: CatalogScopeId,
    location: SourceLocation,
}

impl Compilation<'_> {
    /// Adds a collector and returns its index.
    pub(crate) fn add_collector(
        &self,
        evaluator: &mut Evaluator<'_>,
        declaration: CollectorDeclaration,
    ) -> EvalResult<u32> {
        let type_name = &declaration.type_name;
        if self.find_type(evaluator, type_name)?.is_none() {
            return raise(format!("Resource type {type_name} doesn't exist"));
        }
        if declaration.is_exported && !self.environment.settings.storeconfigs {
            let text = "You cannot collect exported resources without storeconfigs being set; the collection will be ignored";
            self.add_log(LogLevel::Warning, text, &declaration.location);
        }
        Ok(self.push_collector(CollectorKind::Query {
            type_name: reference_name(type_name),
            is_exported: declaration.is_exported,
            query: declaration.query,
            attributes: declaration.attributes,
            scope: declaration.scope,
            location: declaration.location,
        }))
    }

    /// Makes virtual resources real once they are declared.
    pub(crate) fn realize(&self, references: Vec<(Arc<str>, Arc<str>)>) {
        self.push_collector(CollectorKind::Realize {
            missing: references,
        });
    }

    fn push_collector(&self, kind: CollectorKind) -> u32 {
        let mut state = self.state();
        let index = u32::try_from(state.collectors.len()).unwrap_or(u32::MAX);
        state.collectors.push(Collector {
            kind,
            collected: IndexSet::new(),
            foreign: Vec::new(),
            is_searched: false,
        });
        state.active_collectors.push(index);
        index
    }

    /// Runs all collectors; true if one of them found a resource.
    pub(crate) fn evaluate_collectors(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<bool> {
        let active = self.state().active_collectors.clone();
        let mut has_found = false;
        for index in active {
            has_found |= self.evaluate_collector(evaluator, index)?;
        }
        Ok(has_found)
    }

    fn evaluate_collector(&self, evaluator: &mut Evaluator<'_>, index: u32) -> EvalResult<bool> {
        self.collect_from_others(evaluator, index)?;
        evaluator.charge_steps(self.state().collection_steps(index))?;
        let (new, change) = {
            let mut guard = self.state();
            let state = &mut *guard;
            let found = state.found(index, self.environment.settings.storeconfigs);
            let collector = &mut state.collectors[index as usize];
            let new: Vec<ResourceId> = found
                .into_iter()
                .filter(|id| collector.collected.insert(*id))
                .collect();
            for id in &new {
                state.catalog.resource_mut(*id).is_virtual = false;
            }
            (new, state.change_of(index))
        };
        if let Some(change) = change
            && !new.is_empty()
        {
            self.override_collected(&new, &change)?;
        }
        Ok(!new.is_empty())
    }

    /// Adds the exported resources of other nodes, so that the collector finds them.
    fn collect_from_others(&self, evaluator: &mut Evaluator<'_>, index: u32) -> EvalResult<()> {
        if self.request.exports.is_none() || !self.environment.settings.storeconfigs {
            return Ok(());
        }
        let (type_name, query, scope) = {
            let state = self.state();
            let collector = &state.collectors[index as usize];
            match &collector.kind {
                CollectorKind::Query {
                    type_name,
                    is_exported: true,
                    query,
                    scope,
                    ..
                } if !collector.is_searched => (Arc::clone(type_name), query.clone(), *scope),
                _ => return Ok(()),
            }
        };
        let wanted = (&type_name, query.as_ref());
        let new = self.add_exported_of_others(evaluator, wanted, scope)?;
        let mut state = self.state();
        let collector = &mut state.collectors[index as usize];
        collector.foreign = new;
        collector.is_searched = true;
        Ok(())
    }

    fn override_collected(
        &self,
        resources: &[ResourceId],
        change: &CollectorChange,
    ) -> EvalResult<()> {
        let scope = change.scope;
        {
            let mut state = self.state();
            let source = state.scope(scope).source;
            state.sources[source.0 as usize].overrides_all = true;
        }
        for id in resources {
            let (type_name, title) = {
                let state = self.state();
                let resource = state.catalog.resource(*id);
                (Arc::clone(&resource.type_name), Arc::clone(&resource.title))
            };
            let mut attributes = change.attributes.clone();
            // the override is a resource of the collector's scope, so it has the defaults there
            for (name, default) in self.state().defaults(scope, &type_name) {
                if attributes.iter().all(|it| it.name != name) {
                    attributes.push(ResourceAttribute {
                        name,
                        value: default.value,
                        is_added: false,
                        location: default.location,
                    });
                }
            }
            let location = change.location.clone();
            self.add_override((&type_name, &title), scope, attributes, location)?;
        }
        Ok(())
    }

    /// Resources of `realize` that were never declared.
    pub(crate) fn missing_realized(&self) -> Vec<String> {
        let state = self.state();
        let missing = state.collectors.iter().flat_map(|it| match &it.kind {
            CollectorKind::Realize { missing } => missing.as_slice(),
            CollectorKind::Query { .. } => &[],
        });
        let references = missing.map(|(type_name, title)| format!("{type_name}[{title}]"));
        references.collect()
    }
}

impl CompileState {
    /// Overrides of a collector.
    fn change_of(&self, index: u32) -> Option<CollectorChange> {
        match &self.collectors[index as usize].kind {
            CollectorKind::Query {
                attributes,
                scope,
                location,
                ..
            } if !attributes.is_empty() => Some(CollectorChange {
                attributes: attributes.clone(),
                scope: *scope,
                location: location.clone(),
            }),
            _ => None,
        }
    }

    /// Steps of one round of a collector: one for each comparison of a resource, or for each title.
    fn collection_steps(&self, index: u32) -> usize {
        match &self.collectors[index as usize].kind {
            CollectorKind::Query {
                type_name, query, ..
            } => {
                let comparisons = query.as_ref().map_or(1, comparisons);
                self.catalog
                    .of_type(type_name)
                    .len()
                    .saturating_mul(comparisons)
            }
            CollectorKind::Realize { missing } => missing.len(),
        }
    }

    /// The resources that a collector finds now.
    fn found(&mut self, index: u32, storeconfigs: bool) -> Vec<ResourceId> {
        let collector = &mut self.collectors[index as usize];
        match &mut collector.kind {
            CollectorKind::Query {
                is_exported: true, ..
            } if !storeconfigs => Vec::new(),
            CollectorKind::Query { .. } => self.found_by_query(index),
            CollectorKind::Realize { missing } => {
                let mut found = Vec::new();
                missing.retain(|(type_name, title)| {
                    let declared = self.catalog.find_exact(type_name, title);
                    found.extend(declared);
                    declared.is_none()
                });
                if missing.is_empty() {
                    self.active_collectors.retain(|active| *active != index);
                }
                found
            }
        }
    }

    fn found_by_query(&self, index: u32) -> Vec<ResourceId> {
        let collector = &self.collectors[index as usize];
        let CollectorKind::Query {
            type_name,
            is_exported,
            query,
            ..
        } = &collector.kind
        else {
            return Vec::new();
        };
        let ids = self.catalog.of_type(type_name).iter().copied();
        let ids = ids.filter(|id| *id >= MAIN);
        let own = ids.filter(|id| {
            let resource = self.catalog.resource(*id);
            (!is_exported || resource.is_exported)
                && query
                    .as_ref()
                    .is_none_or(|query| self.accepts(query, resource))
        });
        own.chain(collector.foreign.iter().copied()).collect()
    }

    fn accepts(&self, query: &CollectorQuery, resource: &CatalogResource) -> bool {
        match query {
            CollectorQuery::And(queries) => queries.iter().all(|it| self.accepts(it, resource)),
            CollectorQuery::Or(queries) => queries.iter().any(|it| self.accepts(it, resource)),
            CollectorQuery::Compare {
                is_equal: true,
                attribute,
                value,
            } if **attribute == *"tag" => match value {
                Value::Array(tags) => tags.iter().any(|tag| self.is_tagged(resource, tag)),
                tag => self.is_tagged(resource, tag),
            },
            CollectorQuery::Compare {
                is_equal,
                attribute,
                value,
            } => {
                let actual = resource.value(attribute).unwrap_or_default();
                match (&actual, is_equal) {
                    (Value::Array(elements), true) => {
                        elements.iter().any(|element| element.equals(value))
                    }
                    _ => actual.equals(value) == *is_equal,
                }
            }
        }
    }

    fn is_tagged(&self, resource: &CatalogResource, tag: &Value) -> bool {
        self.has_tag(resource, &tag.to_string().to_lowercase())
    }

    /// True if the resource or one of its containers has a tag.
    pub(crate) fn has_tag(&self, resource: &CatalogResource, tag: &str) -> bool {
        let mut resource = resource;
        let mut seen = HashSet::new();
        loop {
            if resource.tags.contains(tag) {
                return true;
            }
            let container = self.scope(resource.scope).resource;
            let next = self.catalog.resource(container);
            if std::ptr::eq(next, resource) || !seen.insert(container) {
                return false;
            }
            resource = next;
        }
    }
}

/// Values that a query compares a resource with, at most.
fn comparisons(query: &CollectorQuery) -> usize {
    match query {
        CollectorQuery::And(queries) | CollectorQuery::Or(queries) => {
            let numbers = queries.iter().map(comparisons);
            numbers.fold(0, usize::saturating_add)
        }
        CollectorQuery::Compare {
            value: Value::Array(values),
            ..
        } => values.len().max(1),
        CollectorQuery::Compare { .. } => 1,
    }
}
