//! Overrides of attributes and resource defaults.
//!
//! Invariant: only the code that set an attribute, or that inherits it, may replace the value.

use std::sync::Arc;

use evaluator::{
    CatalogScopeId, EvalResult, ResourceAttribute, ResourceChange, SourceLocation, raise,
};
use pcore::{FastIndexMap, Value};

use crate::catalog::{ResourceId, ResourceParameter, ResourceSource};
use crate::compilation::Compilation;
use crate::error::{fail_at, location_text};
use crate::names::reference_name;
use crate::scope::DefaultAttribute;
use crate::state::{CompileState, PendingOverride};

impl Compilation<'_> {
    /// Sets resource defaults of a scope.
    pub(crate) fn add_defaults(&self, change: ResourceChange) -> EvalResult<()> {
        let type_name = reference_name(&change.type_name);
        let mut state = self.state();
        state.has_defaults = true;
        let source = state.scope(change.scope).source;
        let scope = state.scope_mut(change.scope);
        let defaults: &mut FastIndexMap<_, _> =
            scope.defaults.entry(Arc::clone(&type_name)).or_default();
        for attribute in change.attributes {
            if defaults.contains_key(&attribute.name) {
                let text = format!(
                    "Default already defined for {type_name} {{ {} }}; cannot redefine",
                    attribute.name
                );
                return fail_at(text, &attribute.location);
            }
            let default = DefaultAttribute {
                value: attribute.value,
                source,
                location: attribute.location,
            };
            defaults.insert(attribute.name, default);
        }
        Ok(())
    }

    /// Overrides attributes of a resource now, or when it is declared.
    pub(crate) fn add_override(
        &self,
        (type_name, title): (&str, &str),
        scope: CatalogScopeId,
        attributes: Vec<ResourceAttribute>,
        location: SourceLocation,
    ) -> EvalResult<()> {
        let reference = reference_name(type_name);
        let source = self.state().scope(scope).source;
        let change = PendingOverride {
            attributes,
            source,
            location,
        };
        match self.find_resource(&reference, title)? {
            Some(id) => self.merge_override(id, change),
            None => {
                let key = (reference, Arc::from(title));
                let mut state = self.state();
                state.pending_overrides.entry(key).or_default().push(change);
                Ok(())
            }
        }
    }

    /// The resource with a title or alias; `type_name` as in a reference.
    pub(crate) fn find_resource(
        &self,
        type_name: &str,
        title: &str,
    ) -> EvalResult<Option<ResourceId>> {
        if let Some(id) = self.state().catalog.find_exact(type_name, title) {
            return Ok(Some(id));
        }
        match self.native_type(&type_name.to_lowercase())? {
            Some(native) => Ok(self.state().catalog.find_by_name(type_name, title, &native)),
            None => Ok(None),
        }
    }

    /// Applies an override to a declared resource.
    pub(crate) fn merge_override(&self, id: ResourceId, change: PendingOverride) -> EvalResult<()> {
        {
            let state = self.state();
            let resource = state.catalog.resource(id);
            let is_allowed = change.source == resource.source
                || state.is_child_of(change.source, resource.source);
            if !is_allowed {
                return fail_at("Only subclasses can override parameters", &change.location);
            }
            if resource.is_evaluated {
                let place = location_text(&resource.location);
                let text = match place.is_empty() {
                    true => "Attempt to override an already evaluated resource with new values"
                        .to_owned(),
                    false => format!(
                        "Attempt to override an already evaluated resource, defined at {place}, with new values"
                    ),
                };
                return fail_at(text, &change.location);
            }
        }
        for attribute in change.attributes {
            self.override_attribute(id, change.source, attribute)?;
        }
        Ok(())
    }

    fn override_attribute(
        &self,
        id: ResourceId,
        source: ResourceSource,
        attribute: ResourceAttribute,
    ) -> EvalResult<()> {
        let mut state = self.state();
        let resource = state.catalog.resource(id);
        let mut value = attribute.value;
        if let Some(current) = resource.parameters.get(&attribute.name) {
            let scope = resource.scope;
            let type_name = &resource.type_name;
            if state.is_default(scope, type_name, &attribute.name, &value) {
                return Ok(());
            }
            let replaces_default = source == current.source
                && state.is_default(scope, type_name, &attribute.name, &current.value);
            if !state.is_child_of(source, current.source) && !replaces_default {
                let place = location_text(&current.location);
                let at = match place.is_empty() {
                    true => String::new(),
                    false => format!(" at {place}"),
                };
                let owner = state.source_label(current.source);
                let text = format!(
                    "Parameter '{}' is already set on {resource}{owner}{at}; cannot redefine",
                    attribute.name
                );
                return fail_at(text, &attribute.location);
            }
            if attribute.is_added {
                value = added(&current.value, &value);
            }
        }
        state.charge_value(&value)?;
        let parameter = ResourceParameter {
            value,
            source,
            location: attribute.location,
        };
        let resource = state.catalog.resource_mut(id);
        match resource.set(attribute.name, parameter) {
            Ok(()) => Ok(()),
            Err(error) => raise(error.to_string()),
        }
    }
}

impl CompileState {
    /// ` by class a`: the owner of an attribute in messages, which Puppet shows as an object of
    /// Ruby. Empty for code outside of classes.
    fn source_label(&self, source: ResourceSource) -> String {
        let mut names = self.sources_by_name.iter();
        let found = names.find(|(_, known)| **known == source);
        found.map_or_else(String::new, |(name, _)| format!(" by {name}"))
    }
}

/// The values of `+>`: those that are set, then the new ones, in one flat list.
fn added(current: &Value, new: &Value) -> Value {
    fn flatten(value: &Value, into: &mut Vec<Value>) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| flatten(value, into)),
            other => into.push(other.clone()),
        }
    }
    let mut values = Vec::new();
    flatten(current, &mut values);
    flatten(new, &mut values);
    Value::array(values)
}
