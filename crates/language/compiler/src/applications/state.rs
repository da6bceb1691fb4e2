//! State of a compilation that applications add: [`ApplicationState`].

use std::sync::Arc;

use evaluator::{ManifestMapping, MappedComponent};
use pcore::{FastHashMap, FastHashSet};
use syntax::ast::CapabilityRole;

use super::source::ProducedCapability;
use crate::DataQueryResult;
use crate::catalog::{CatalogResource, ResourceId};
use crate::names::reference_name;
use crate::reference::CatalogReference;

/// Applications, components and capabilities of a compilation.
#[derive(Debug, Default)]
pub(crate) struct ApplicationState {
    /// Declared applications, in order.
    pub(crate) instances: Vec<ResourceId>,
    /// Components in the catalog, in the order of their declarations.
    pub(crate) components: Vec<ResourceId>,
    /// The components of the application that is evaluated, with the certnames that they are mapped
    /// to; `None` outside of such an evaluation.
    pub(crate) node_map: Option<FastHashMap<CatalogReference, Arc<str>>>,
    /// Components, applications and plain resources of a site that are on other nodes only, and components
    /// that are deferred. One that is in the catalog nevertheless, since two applications have components of
    /// one name, is no such resource.
    pub(crate) left_out: FastHashSet<CatalogReference>,
    /// Capabilities that components of other nodes export, with the certnames of these nodes.
    pub(crate) expected_producers: FastHashMap<CatalogReference, Arc<str>>,
    /// Mappings of all manifests that were loaded, in order.
    pub(crate) mappings: Vec<Arc<ManifestMapping>>,
    by_key: FastHashMap<MappingKey, Arc<ManifestMapping>>,
    /// Components of native types by the capabilities that they export. They produce when they are
    /// linked: on the first demand, or after the defined types.
    pub(crate) native_exporters: FastHashMap<CatalogReference, ResourceId>,
    /// Components of native types that took their values and produced their capabilities.
    pub(crate) linked: FastHashSet<ResourceId>,
    /// Capabilities in the catalog, with the components of the node that produce them.
    pub(crate) capabilities: FastHashMap<ResourceId, Option<ResourceId>>,
    /// Capabilities of other nodes in the catalog, with digests of their values.
    pub(crate) taken: Vec<DataQueryResult>,
    /// References of the components that are left for a later run.
    pub(crate) deferred: Vec<String>,
    /// Capabilities that the node produces.
    pub(crate) produced: Vec<ProducedCapability>,
}

/// Role, component (`Foo::Bar` or `Class[Foo]`) and type of the capability of a mapping.
type MappingKey = (CapabilityRole, Arc<str>, Arc<str>);

impl ApplicationState {
    /// Adds the mappings of a manifest. The first mapping of a component and a capability wins, as
    /// in Puppet.
    pub(crate) fn add_mappings(&mut self, mappings: &[Arc<ManifestMapping>]) {
        for mapping in mappings {
            let component: Arc<str> = match &mapping.component {
                MappedComponent::Type(name) => reference_name(name),
                MappedComponent::Class(name) => class_key(&reference_name(name)),
            };
            let key = (mapping.role, component, reference_name(&mapping.capability));
            self.by_key
                .entry(key)
                .or_insert_with(|| Arc::clone(mapping));
            self.mappings.push(Arc::clone(mapping));
        }
    }

    /// True if the application that is evaluated maps a component to a node.
    pub(crate) fn is_mapped_to(&self, component: &CatalogReference, certname: &str) -> bool {
        let mapped = self.node_map.as_ref().and_then(|map| map.get(component));
        mapped.is_some_and(|mapped| **mapped == *certname)
    }

    /// The mapping of a component and a type of capabilities.
    pub(crate) fn mapping(
        &self,
        role: CapabilityRole,
        component: &CatalogResource,
        capability: &Arc<str>,
    ) -> Option<Arc<ManifestMapping>> {
        let component = match component.is_class() {
            true => class_key(&component.title),
            false => Arc::clone(&component.type_name),
        };
        let key = (role, component, Arc::clone(capability));
        self.by_key.get(&key).cloned()
    }
}

fn class_key(title: &str) -> Arc<str> {
    format!("Class[{title}]").into()
}
