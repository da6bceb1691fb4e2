//! The attributes `export` and `consume` of components, and relationships to capabilities:
//! [`ComponentCapabilities`].
//!
//! Invariant: the two attributes are never parameters of a resource, so definitions need not accept
//! them; a type that declares an attribute of that name keeps it.

use evaluator::{EvalResult, Evaluator};
use pcore::Value;

use crate::catalog::{CatalogResource, ResourceId, ResourceKind, ResourceParameter};
use crate::compilation::Compilation;
use crate::environment::DefinedTypeRole;
use crate::error::fail_at;
use crate::reference::{CatalogReference, flat_values};

/// The attribute that names the capabilities that a component produces.
pub(super) const EXPORT: &str = "export";
/// The attribute that names the capabilities whose values a component takes.
pub(super) const CONSUME: &str = "consume";

/// The capabilities that a component names.
#[derive(Debug, Default, Clone)]
pub(super) struct ComponentCapabilities {
    pub(super) exports: Vec<CatalogReference>,
    pub(super) consumes: Vec<CatalogReference>,
    /// Capabilities in `require`: they order the component, and give it no values.
    pub(super) requires: Vec<CatalogReference>,
}

impl ComponentCapabilities {
    pub(super) fn is_empty(&self) -> bool {
        self.exports.is_empty() && self.consumes.is_empty() && self.requires.is_empty()
    }

    /// The capabilities that must exist before the component: those of `require` come first.
    pub(super) fn needs(&self) -> impl Iterator<Item = &CatalogReference> {
        self.requires.iter().chain(&self.consumes)
    }
}

impl ResourceKind {
    /// True for types of capabilities.
    pub(crate) fn is_capability(&self) -> bool {
        match self {
            Self::Native(ty) => ty.is_capability(),
            Self::DefinedType(defined) => defined.role == DefinedTypeRole::Capability,
            Self::Class(_) | Self::Node(_) => false,
        }
    }

    pub(crate) fn is_application(&self) -> bool {
        matches!(self, Self::DefinedType(defined) if defined.role == DefinedTypeRole::Application)
    }

    /// True if the definition declares an attribute or parameter of this name.
    pub(super) fn declares(&self, name: &str) -> bool {
        let code = match self {
            Self::Native(ty) => return ty.attribute_kind(name).is_some(),
            Self::DefinedType(defined) => Some(&defined.code),
            Self::Class(class) => class.as_ref().map(|class| &class.code),
            Self::Node(_) => None,
        };
        code.is_some_and(|code| code.parameter(name).is_some())
    }
}

impl CatalogResource {
    /// True if `export` or `consume`, whichever the name is, is set.
    pub(crate) fn has_link(&self, name: &str) -> bool {
        let links = self.links.as_ref();
        let link = links.and_then(|links| match name {
            EXPORT => links.export.as_ref(),
            _ => links.consume.as_ref(),
        });
        link.is_some()
    }

    /// Sets `export` or `consume`, whichever the name is.
    pub(crate) fn set_link(&mut self, name: &str, parameter: ResourceParameter) {
        let links = self.links.get_or_insert_default();
        let link = match name {
            EXPORT => &mut links.export,
            _ => &mut links.consume,
        };
        *link = Some(parameter);
    }
}

impl Compilation<'_> {
    /// True if an attribute of the resource is `export` or `consume` of a component.
    pub(crate) fn is_link(&self, resource: &CatalogResource, name: &str) -> bool {
        self.environment.settings.applications
            && matches!(name, EXPORT | CONSUME)
            && !resource.kind.declares(name)
    }

    /// The capabilities that a resource names; an error if one of them cannot be used so.
    pub(super) fn component_capabilities(
        &self,
        evaluator: &mut Evaluator<'_>,
        id: ResourceId,
    ) -> EvalResult<ComponentCapabilities> {
        let (export, consume, relationships) = {
            let state = self.state();
            let resource = state.catalog.resource(id);
            let links = resource.links.as_deref();
            let value = |link: Option<&ResourceParameter>| link.map(|it| it.value.clone());
            let relationship = |name: &'static str| Some((name, resource.value(name)?));
            let names = ["before", "notify", "subscribe", "require"];
            (
                value(links.and_then(|it| it.export.as_ref())),
                value(links.and_then(|it| it.consume.as_ref())),
                names
                    .into_iter()
                    .filter_map(relationship)
                    .collect::<Vec<_>>(),
            )
        };
        let mut found = ComponentCapabilities::default();
        if let Some(value) = export {
            found.exports = self.linked(evaluator, (id, EXPORT), &value)?;
        }
        if let Some(value) = consume {
            found.consumes = self.linked(evaluator, (id, CONSUME), &value)?;
        }
        let mut wrong = None;
        for (name, value) in relationships {
            let capabilities = self.related(evaluator, &value)?;
            match name {
                "require" => found.requires = capabilities,
                _ if capabilities.is_empty() => {}
                _ => wrong = wrong.or(Some(name)),
            }
        }
        match wrong {
            // a graph has a message of its own for resources that are no components
            Some(name) if !self.is_graph || !found.is_empty() => {
                let text = format!("'{name}' is not a valid relationship to a capability");
                fail_at(text, &self.resource_location(id))
            }
            _ => Ok(found),
        }
    }

    /// The references in `export` or `consume`, which must be capabilities.
    fn linked(
        &self,
        evaluator: &mut Evaluator<'_>,
        (id, name): (ResourceId, &str),
        value: &Value,
    ) -> EvalResult<Vec<CatalogReference>> {
        flat_values(value)
            .into_iter()
            .map(|value| self.linked_capability(evaluator, (id, name), value))
            .collect()
    }

    fn linked_capability(
        &self,
        evaluator: &mut Evaluator<'_>,
        (id, name): (ResourceId, &str),
        value: &Value,
    ) -> EvalResult<CatalogReference> {
        let text = match value {
            Value::Type(ty) => match CatalogReference::of(ty) {
                Some(reference) if self.is_capability(evaluator, &reference)? => {
                    return Ok(reference);
                }
                Some(reference) => {
                    let label = match name {
                        EXPORT => self.label(id),
                        // Puppet names the capability twice
                        _ => reference.to_string(),
                    };
                    format!("Invalid {name} in {label}: {reference} is not a capability resource")
                }
                None => format!(
                    "Invalid {name} in {}: {ty} is not a resource",
                    self.label(id)
                ),
            },
            other if self.is_graph => {
                format!("Could not find resource '{other}' in parameter '{name}'")
            }
            other => format!(
                "Invalid {name} in {}: {other} is not a resource",
                self.label(id)
            ),
        };
        fail_at(text, &self.resource_location(id))
    }

    /// The capabilities among the references of a relationship.
    pub(super) fn related(
        &self,
        evaluator: &mut Evaluator<'_>,
        value: &Value,
    ) -> EvalResult<Vec<CatalogReference>> {
        let mut capabilities = Vec::new();
        for ty in flat_values(value).into_iter().filter_map(Value::as_type) {
            if let Some(reference) = CatalogReference::of(ty)
                && self.is_capability(evaluator, &reference)?
            {
                capabilities.push(reference);
            }
        }
        Ok(capabilities)
    }

    pub(super) fn is_capability(
        &self,
        evaluator: &mut Evaluator<'_>,
        reference: &CatalogReference,
    ) -> EvalResult<bool> {
        let kind = self.find_declared_type(evaluator, &reference.type_name)?;
        Ok(kind.is_some_and(|(_, kind)| kind.is_capability()))
    }

    /// `Type[title]`
    pub(super) fn label(&self, id: ResourceId) -> String {
        self.state().catalog.resource(id).to_string()
    }

    pub(super) fn resource_location(&self, id: ResourceId) -> evaluator::SourceLocation {
        self.state().catalog.resource(id).location.clone()
    }
}
