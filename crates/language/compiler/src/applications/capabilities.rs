//! Production and consumption of capabilities in the catalog of a node.
//!
//! Invariant: a capability is in the catalog before a component that names it is evaluated, and its
//! attributes never change after that.

use std::sync::Arc;

use evaluator::{CatalogScopeId, EvalResult, Evaluator, SourceLocation, VariableScope, raise};
use pcore::{FastIndexMap, Hash, Value};
use resource_types::ResourceAttributeKind;
use syntax::ast::CapabilityRole;

use super::links::ComponentCapabilities;
use super::source::{CapabilitySearch, StoredCapability};
use crate::catalog::{
    CatalogResource, ResourceId, ResourceKind, ResourceParameter, ResourceSource,
};
use crate::catalog_reads::VolatileCause;
use crate::compilation::Compilation;
use crate::data_queries::{CapabilityQuery, DataQuery, DataQueryResult, capabilities_digest};
use crate::defaults::{CAPABILITY_QUERIES_MAX, DATA_QUERY_BYTES_MAX};
use crate::error::fail_at;
use crate::reference::CatalogReference;

impl ResourceKind {
    /// Names of the attributes of a capability that its producer sets, or of the parameters of a
    /// component: parameters besides the one that the title sets.
    pub(super) fn parameter_names(&self) -> Vec<Arc<str>> {
        let code = match self {
            Self::Native(ty) => {
                let is_set = |name: &str, kind| {
                    kind == ResourceAttributeKind::Parameter
                        && name != "name"
                        && name != ty.name_variable()
                };
                let attributes = ty.attributes();
                let attributes = attributes.filter(|(name, kind)| is_set(name, *kind));
                return attributes.map(|(name, _)| name.into()).collect();
            }
            Self::DefinedType(defined) => Some(&defined.code),
            Self::Class(class) => class.as_ref().map(|class| &class.code),
            Self::Node(_) => None,
        };
        let names = code.into_iter().flat_map(|code| code.parameters());
        names.map(|(name, _)| Arc::clone(name)).collect()
    }
}

impl Compilation<'_> {
    /// Before the evaluation of a component: finds the capabilities that it names, and takes the
    /// values of those that it consumes.
    pub(crate) fn consume_capabilities(
        &self,
        evaluator: &mut Evaluator<'_>,
        id: ResourceId,
    ) -> EvalResult<()> {
        if !self.has_links(id) {
            return Ok(());
        }
        let named = self.component_capabilities(evaluator, id)?;
        for reference in &named.requires {
            self.capability(evaluator, reference)?;
        }
        let mut taken: FastIndexMap<Arc<str>, Value> = FastIndexMap::default();
        for reference in &named.consumes {
            self.take_values(evaluator, id, reference, &mut taken)?;
        }
        for (name, value) in taken {
            let is_given = {
                let state = self.state();
                let parameter = state.catalog.resource(id).parameters.get(&name);
                parameter.is_some_and(|it| !it.value.is_undef())
            };
            if !is_given {
                self.set_own_parameter(id, &name, value)?;
            }
        }
        Ok(())
    }

    /// True if a resource may name capabilities.
    fn has_links(&self, id: ResourceId) -> bool {
        if !self.environment.settings.applications {
            return false;
        }
        let state = self.state();
        let resource = state.catalog.resource(id);
        resource.links.is_some() || resource.parameters.contains_key("require")
    }

    /// Adds the values that one capability has for the parameters of a component.
    fn take_values(
        &self,
        evaluator: &mut Evaluator<'_>,
        id: ResourceId,
        reference: &CatalogReference,
        taken: &mut FastIndexMap<Arc<str>, Value>,
    ) -> EvalResult<()> {
        let capability = self.capability(evaluator, reference)?;
        let attributes = self.capability_values(capability);
        let (mapping, kind) = {
            let state = self.state();
            let component = state.catalog.resource(id);
            let role = CapabilityRole::Consumes;
            let mapping = state
                .applications
                .mapping(role, component, &reference.type_name);
            (mapping, component.kind.clone())
        };
        let Some(mapping) = mapping else {
            return self.report_missing_clause(CapabilityRole::Consumes, id, reference);
        };
        let scope = VariableScope::top().growable_inside();
        for name in ["name", "title"] {
            scope.define(name, Value::Str(Arc::clone(&reference.title)));
        }
        for (name, value) in attributes.iter() {
            scope.define(&name.to_string(), value.clone());
        }
        // what the producer left open is undefined, and no unknown variable
        let capability_kind = self.state().catalog.resource(capability).kind.clone();
        for name in capability_kind.parameter_names() {
            scope.define(&name, Value::Undef);
        }
        let mapped = evaluator.evaluate_mapping(&mapping, &scope)?;
        let names = match kind {
            // Puppet gives no values to native types; here they take those that the mapping names
            ResourceKind::Native(_) => mapping.names.to_vec(),
            kind => kind.parameter_names(),
        };
        for name in names {
            let value = mapped.get_str(&name).or_else(|| attributes.get_str(&name));
            let Some(value) = value.filter(|value| !value.is_undef()) else {
                continue;
            };
            if taken.insert(Arc::clone(&name), value.clone()).is_some() {
                let text = format!(
                    "Attempt to reassign attribute '{name}' in '{}' caused by multiple consumed mappings to the same attribute",
                    self.label(id)
                );
                return fail_at(text, &self.resource_location(id));
            }
        }
        Ok(())
    }

    /// Error for a component without a mapping for a capability.
    pub(super) fn report_missing_clause<T>(
        &self,
        role: CapabilityRole,
        id: ResourceId,
        reference: &CatalogReference,
    ) -> EvalResult<T> {
        let capability = &reference.type_name;
        let (text, location) = {
            let state = self.state();
            let component = state.catalog.resource(id);
            let component_type = match component.is_class() {
                true => component.to_string(),
                false => component.type_name.to_string(),
            };
            let text = match role {
                CapabilityRole::Produces => {
                    format!("Resource type {component_type} does not produce {capability}")
                }
                CapabilityRole::Consumes => format!(
                    "Resource {component} tries to consume {reference} but no 'consumes' mapping exists for {component_type} and {capability}"
                ),
            };
            (text, component.location.clone())
        };
        fail_at(text, &location)
    }

    /// The capability with this reference: one of the catalog, else one of another node.
    fn capability(
        &self,
        evaluator: &mut Evaluator<'_>,
        reference: &CatalogReference,
    ) -> EvalResult<ResourceId> {
        if let Some(id) = self.find_resource(&reference.type_name, &reference.title)? {
            return Ok(id);
        }
        let exporter = {
            let state = self.state();
            state.applications.native_exporters.get(reference).copied()
        };
        if let Some(exporter) = exporter {
            // an exporter may have to wait for another one
            self.enter_nested()?;
            let linked = self.link_native_component(evaluator, exporter);
            self.leave_nested();
            linked?;
            if let Some(id) = self.find_resource(&reference.type_name, &reference.title)? {
                return Ok(id);
            }
        }
        let Some(source) = &self.request.capabilities else {
            return raise("PuppetDB is not available");
        };
        let search = CapabilitySearch {
            environment: self.environment.name(),
            type_name: &reference.type_name,
            title: &reference.title,
            interrupt: self.request.interrupt.as_ref(),
        };
        let mut found = match source.find(&search) {
            Ok(found) => found,
            Err(error) => {
                // the reason of an interruption is better than what it did to the search
                self.check_interrupt()?;
                return raise(error.to_string());
            }
        };
        self.state().add_volatile(VolatileCause::Capabilities);
        // the catalog has what this node produces; what is stored for it is of an earlier catalog
        found.retain(|it| it.certname != self.request.certname);
        let producers: Vec<String> = found.iter().map(|it| it.certname.clone()).collect();
        let expected = {
            let state = self.state();
            state
                .applications
                .expected_producers
                .get(reference)
                .cloned()
        };
        if let Some(expected) = expected {
            found.retain(|it| *it.certname == *expected);
        }
        if found.is_empty() {
            // once there is one, the compilation may succeed
            self.record_capability(reference, producers.clone(), None);
        }
        let code_id = self.request.code_id.as_deref();
        let found = the_only(found, code_id, reference)?;
        self.record_capability(reference, producers, Some(&found));
        self.add_foreign_capability(evaluator, reference, &found)
    }

    /// Records that the catalog has the values of a capability of another node, one of `producers`, or that it lacks them
    /// because none is `taken`.
    fn record_capability(
        &self,
        reference: &CatalogReference,
        mut producers: Vec<String>,
        taken: Option<&StoredCapability>,
    ) {
        producers.retain(|producer| taken.is_none_or(|taken| *producer != taken.certname));
        producers.sort();
        let query = DataQuery::Capability(CapabilityQuery {
            environment: self.environment.name().to_owned(),
            type_name: reference.type_name.to_string(),
            title: reference.title.to_string(),
            former_producers: producers,
        });
        let mut taken: Vec<StoredCapability> = taken.into_iter().cloned().collect();
        let Some(digest) = capabilities_digest(&mut taken) else {
            return;
        };
        let mut state = self.state();
        let known = &mut state.applications.taken;
        if known.len() < CAPABILITY_QUERIES_MAX && query.byte_len() <= DATA_QUERY_BYTES_MAX {
            known.push(DataQueryResult { query, digest });
        }
    }

    /// Adds a capability of another node. Nothing contains it.
    fn add_foreign_capability(
        &self,
        evaluator: &mut Evaluator<'_>,
        reference: &CatalogReference,
        stored: &StoredCapability,
    ) -> EvalResult<ResourceId> {
        let owner = (CatalogScopeId::TOP, ResourceSource(0));
        let mut capability = self.new_capability(evaluator, reference, owner)?;
        for (name, value) in stored.attributes.iter() {
            let name = name.to_string();
            // the type may have other attributes in this version of the environment
            if capability.kind.accepts(&name) {
                self.set_capability_attribute(&mut capability, name.as_str().into(), value)?;
            }
        }
        capability.is_evaluated = true;
        self.add_capability(capability, None)
    }

    fn new_capability(
        &self,
        evaluator: &mut Evaluator<'_>,
        reference: &CatalogReference,
        owner: (CatalogScopeId, ResourceSource),
    ) -> EvalResult<CatalogResource> {
        let Some((type_name, kind)) = self.find_declared_type(evaluator, &reference.type_name)?
        else {
            return raise(format!("Unknown resource type: '{}'", reference.type_name));
        };
        let title = Arc::clone(&reference.title);
        let mut capability = CatalogResource::new(type_name, title, kind, owner);
        capability.add_own_tags();
        Ok(capability)
    }

    fn set_capability_attribute(
        &self,
        capability: &mut CatalogResource,
        name: Arc<str>,
        value: &Value,
    ) -> EvalResult<()> {
        self.state().charge_value(value)?;
        let parameter = ResourceParameter {
            value: value.clone(),
            source: capability.source,
            location: SourceLocation::default(),
        };
        match capability.set(name, parameter) {
            Ok(()) => Ok(()),
            Err(error) => raise(error.to_string()),
        }
    }

    fn add_capability(
        &self,
        capability: CatalogResource,
        producer: Option<ResourceId>,
    ) -> EvalResult<ResourceId> {
        let id = self.add_resource_uncontained(capability)?;
        let mut state = self.state();
        state.applications.capabilities.insert(id, producer);
        Ok(id)
    }

    /// After the parameters of a component are known: adds the capabilities that it exports.
    pub(crate) fn produce_capabilities(
        &self,
        evaluator: &mut Evaluator<'_>,
        id: ResourceId,
        variables: &VariableScope,
    ) -> EvalResult<()> {
        let has_export = {
            let state = self.state();
            let links = state.catalog.resource(id).links.as_ref();
            links.is_some_and(|links| links.export.is_some())
        };
        if !has_export {
            return Ok(());
        }
        let ComponentCapabilities { exports, .. } = self.component_capabilities(evaluator, id)?;
        for reference in &exports {
            self.produce(evaluator, id, reference, variables)?;
        }
        Ok(())
    }

    fn produce(
        &self,
        evaluator: &mut Evaluator<'_>,
        id: ResourceId,
        reference: &CatalogReference,
        variables: &VariableScope,
    ) -> EvalResult<()> {
        let (mapping, source) = {
            let state = self.state();
            let component = state.catalog.resource(id);
            let role = CapabilityRole::Produces;
            let mapping = state
                .applications
                .mapping(role, component, &reference.type_name);
            (mapping, component.source)
        };
        let Some(mapping) = mapping else {
            return self.report_missing_clause(CapabilityRole::Produces, id, reference);
        };
        let mapped = evaluator.evaluate_mapping(&mapping, variables)?;
        let owner = (variables.catalog_scope(), source);
        let mut capability = self.new_capability(evaluator, reference, owner)?;
        for name in capability.kind.parameter_names() {
            if mapped.get_str(&name).is_some() {
                continue;
            }
            let variable = evaluator.variable_in(variables, &name).transpose()?;
            if let Some(value) = variable.filter(|value| !value.is_undef()) {
                self.set_capability_attribute(&mut capability, name, &value)?;
            }
        }
        for (name, value) in mapped.iter().filter(|(_, value)| !value.is_undef()) {
            let name = name.to_string();
            if capability.kind.accepts(&name) {
                self.set_capability_attribute(&mut capability, name.as_str().into(), value)?;
            }
        }
        let producer = format!("producer:{}", self.environment.name());
        if let Err(error) = capability.tags.add(&producer) {
            return raise(error.to_string());
        }
        capability.location = self.resource_location(id);
        let added = self.add_capability(capability, Some(id))?;
        // the defaults and types of a capability in the Puppet language
        self.evaluate_resource(evaluator, added)?;
        let component = Value::from(self.label(id));
        self.append_reference(added, "require", component)
    }

    /// Takes values and produces capabilities for a component of a native type, whose attributes are
    /// its variables, once. Other components are left alone, and so is a virtual one, which no
    /// catalog shows.
    pub(super) fn link_native_component(
        &self,
        evaluator: &mut Evaluator<'_>,
        id: ResourceId,
    ) -> EvalResult<()> {
        {
            let mut state = self.state();
            let resource = state.catalog.resource(id);
            let is_ready = resource.is_native() && !resource.is_virtual;
            if !is_ready || !state.applications.linked.insert(id) {
                return Ok(());
            }
        }
        self.consume_capabilities(evaluator, id)?;
        let variables = VariableScope::top().growable_inside();
        {
            let state = self.state();
            let resource = state.catalog.resource(id);
            variables.define("title", Value::Str(Arc::clone(&resource.title)));
            variables.define("name", resource.name());
            for (name, parameter) in &resource.parameters {
                variables.define(name, parameter.value.clone());
            }
        }
        self.produce_capabilities(evaluator, id, &variables)
    }

    /// The attributes of a capability in the catalog.
    pub(super) fn capability_values(&self, id: ResourceId) -> Hash {
        let state = self.state();
        let resource = state.catalog.resource(id);
        let parameters = resource.parameters.iter();
        parameters
            .filter(|(name, parameter)| resource.kind.declares(name) && !parameter.value.is_undef())
            .map(|(name, parameter)| (&**name, parameter.value.clone()))
            .collect()
    }
}

/// The capability that a search found. If several nodes produce it, one of them may do so with the
/// code version of the compilation.
fn the_only(
    mut found: Vec<StoredCapability>,
    code_id: Option<&str>,
    reference: &CatalogReference,
) -> EvalResult<StoredCapability> {
    let all: Vec<String> = found.iter().map(|it| it.certname.clone()).collect();
    if found.len() > 1 && code_id.is_some() {
        found.retain(|it| it.code_id.as_deref() == code_id);
    }
    let number = found.len();
    match (number, found.pop()) {
        (1, Some(only)) => Ok(only),
        _ if all.is_empty() => raise(format!(
            "Resource {reference} could not be found; it might not have been produced yet"
        )),
        _ => raise(format!(
            "Unexpected response from PuppetDB when looking up {reference}: expected exactly one resource but got {}; it is produced by {}",
            all.len(),
            all.join(", ")
        )),
    }
}
