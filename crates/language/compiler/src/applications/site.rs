//! The site of an environment, and applications, which only a site declares.

use std::sync::Arc;

use evaluator::{
    BuiltInVariables, CatalogScopeId, EvalResult, Evaluator, LogLevel, SourceLocation,
    VariableScope,
};
use pcore::{FastHashMap, Value};

use crate::catalog::{CatalogResource, ResourceId, ResourceKind};
use crate::compilation::Compilation;
use crate::environment::{ClassDefinition, NodeDefinition};
use crate::error::{fail_at, location_text};
use crate::names::reference_name;
use crate::reference::CatalogReference;
use crate::scope::{CompileScope, ScopeKind};

impl Compilation<'_> {
    /// Evaluates the site, whose variables shadow those of the top scope.
    pub(crate) fn evaluate_site(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<()> {
        let manifests = Arc::clone(&self.state().site);
        let site = manifests.iter().find_map(|manifest| manifest.sites.first());
        let Some(site) = site else {
            if self.is_graph {
                let text = "Environment Compiler: Could not find a site definition to evaluate";
                self.add_log(LogLevel::Warning, text, &SourceLocation::default());
            }
            return Ok(());
        };
        let definition = NodeDefinition {
            hosts: Box::default(),
            code: site.clone(),
        };
        let id = self.add_site(definition)?;
        let scope = {
            let mut state = self.state();
            let source = state.source_named("site", None);
            state.add_scope(CompileScope {
                parent: Some(CatalogScopeId::TOP),
                kind: ScopeKind::Site,
                source,
                resource: id,
                variables: VariableScope::top(),
                defaults: FastHashMap::default(),
                module: Some("".into()),
            })
        };
        let built_in = BuiltInVariables {
            title: Value::from("site"),
            name: Value::from("site"),
            module_name: Some(Value::from("")),
            caller_module_name: Some(Value::from("")),
        };
        let top = VariableScope::top();
        let variables = evaluator.open_scope(site, &top, scope, built_in, true);
        self.state().scope_mut(scope).variables = variables.clone();
        evaluator.run_catalog_code(site, &variables, None)
    }

    /// Adds `Site[site]`, which no document shows.
    fn add_site(&self, definition: NodeDefinition) -> EvalResult<ResourceId> {
        let source = self.state().source_named("site", None);
        let owner = (CatalogScopeId::TOP, source);
        let kind = ResourceKind::Node(Arc::new(definition));
        let mut resource = CatalogResource::new("Site".into(), "site".into(), kind, owner);
        resource.is_evaluated = true;
        resource.is_pruned = true;
        resource.add_own_tags();
        self.add_resource(CatalogScopeId::TOP, resource)
    }

    /// Refuses sites after the first.
    pub(crate) fn check_one_site(&self) -> EvalResult<()> {
        let manifests = Arc::clone(&self.state().site);
        let mut sites = manifests.iter().flat_map(|manifest| &manifest.sites);
        match (sites.next(), sites.next()) {
            (Some(first), Some(second)) => {
                let place = location_text(&first.location());
                let text = format!("Site is already defined {place}; cannot redefine");
                fail_at(text, &second.location())
            }
            _ => Ok(()),
        }
    }

    /// Notes a declared application, or a component of one. A catalog of a node has the application
    /// only if components are mapped to the node.
    pub(crate) fn note_declared(&self, id: ResourceId) -> EvalResult<()> {
        let mut state = self.state();
        let resource = state.catalog.resource(id);
        let scope = state.scope(resource.scope).kind;
        if resource.kind.is_application() {
            if scope != ScopeKind::Site {
                let text = format!(
                    "Application instances like '{resource}' can only be contained within a Site"
                );
                return fail_at(text, &resource.location);
            }
            state.applications.instances.push(id);
            state.catalog.resource_mut(id).is_pruned = true;
        } else if scope == ScopeKind::Application {
            state.applications.components.push(id);
        }
        Ok(())
    }

    /// True for a resource that the catalog of this node does not have: one that a site declares and
    /// that is no application, and a component that is not mapped to the node.
    pub(crate) fn is_left_out(&self, resource: &CatalogResource) -> bool {
        if !self.environment.settings.applications || self.is_graph {
            return false;
        }
        let state = self.state();
        match state.scope(resource.scope).kind {
            ScopeKind::Site => !resource.kind.is_application() && !resource.is_class(),
            ScopeKind::Application if resource.kind.is_application() => false,
            ScopeKind::Application => {
                let certname = &self.request.certname;
                !state
                    .applications
                    .is_mapped_to(&resource.reference(), certname)
            }
            _ => false,
        }
    }

    /// True if the application that is evaluated maps a class to the node.
    pub(crate) fn is_mapped_class(&self, class: &ClassDefinition) -> bool {
        let reference = CatalogReference {
            type_name: "Class".into(),
            title: reference_name(&class.name),
        };
        let certname = &self.request.certname;
        self.state().applications.is_mapped_to(&reference, certname)
    }

    /// Notes a resource that the catalog does not have, and what it exports: the node that it is
    /// mapped to is the only one whose capability counts, since a node that it was on before may
    /// still have one.
    pub(crate) fn note_left_out(&self, resource: &CatalogResource) {
        let reference = resource.reference();
        self.state().applications.left_out.insert(reference);
        let links = resource.links.as_deref();
        let Some(export) = links.and_then(|links| links.export.as_ref()) else {
            return;
        };
        let mut exports = Vec::new();
        add_references(&export.value, &mut exports);
        let mut state = self.state();
        let applications = &mut state.applications;
        let map = applications.node_map.as_ref();
        let Some(certname) = map.and_then(|map| map.get(&resource.reference()).cloned()) else {
            return;
        };
        for capability in exports {
            let producers = &mut applications.expected_producers;
            producers
                .entry(capability)
                .or_insert_with(|| Arc::clone(&certname));
        }
    }

    /// True if a class that is declared in this scope is evaluated later: in a graph never, and in an
    /// application after its producers.
    pub(crate) fn is_class_deferred(&self, scope: CatalogScopeId) -> bool {
        self.is_graph || self.state().scope(scope).kind == ScopeKind::Application
    }
}

/// Adds the references in a value and its lists. Other values are the fault of another node.
fn add_references(value: &Value, found: &mut Vec<CatalogReference>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| add_references(value, found)),
        Value::Type(ty) => found.extend(CatalogReference::of(ty)),
        _ => {}
    }
}
