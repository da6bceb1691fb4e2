//! Checks of the components of a graph, in the order of Puppet's: membership, parameters, exports.
//!
//! Puppet checks mappings, parameters of consumers and resources outside of applications only when a
//! node's catalog is compiled; here a graph is complete only if catalogs can follow from it.

use std::sync::Arc;

use evaluator::{CatalogBody, EvalError, EvalResult, Evaluator, raise};
use pcore::{FastHashMap, FastHashSet, Hash};
use resource_types::Metaparameter;
use syntax::ast::CapabilityRole;

use super::links::ComponentCapabilities;
use crate::catalog::{CatalogResource, ResourceId, ResourceKind};
use crate::compilation::Compilation;
use crate::defaults::ERRORS_MAX;
use crate::error::{error_at, fail_at};
use crate::reference::CatalogReference;
use crate::scope::ScopeKind;
use crate::state::MAIN;

/// A component of an application in a graph.
pub(super) struct GraphComponent {
    pub(super) id: ResourceId,
    pub(super) application: ResourceId,
    pub(super) reference: CatalogReference,
    pub(super) capabilities: ComponentCapabilities,
}

impl Compilation<'_> {
    /// The components of all applications, in the order of their declarations.
    pub(super) fn checked_components(
        &self,
        evaluator: &mut Evaluator<'_>,
    ) -> EvalResult<Vec<GraphComponent>> {
        let components = self.graph_components(evaluator)?;
        let mut errors = Vec::new();
        for component in &components {
            if let Err(unwind) = self.check_component(evaluator, component) {
                match unwind.into_error() {
                    Ok(error) => errors.push(self.located(error, component.id)),
                    Err(_) => return raise("the compilation was interrupted"),
                }
                if errors.len() > ERRORS_MAX {
                    break;
                }
            }
        }
        self.fail_with(errors)?;
        self.check_exports(&components)?;
        Ok(components)
    }

    /// The error with the place of the component, if it has none.
    fn located(&self, error: EvalError, id: ResourceId) -> EvalError {
        match error.location {
            Some(_) => error,
            None => EvalError {
                hints: error.hints.clone(),
                ..error_at(error.message, &self.resource_location(id))
            },
        }
    }

    fn graph_components(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<Vec<GraphComponent>> {
        let ids: Vec<ResourceId> = self.state().catalog.ids().filter(|id| *id > MAIN).collect();
        let mut components = Vec::new();
        for id in ids {
            let (kind, application, reference, is_component) = {
                let state = self.state();
                let resource = state.catalog.resource(id);
                let scope = state.scope(resource.scope);
                let may_be = !resource.is_virtual && !resource.kind.is_application();
                (scope.kind, scope.resource, resource.reference(), may_be)
            };
            let is_class = *reference.type_name == *"Class";
            match kind {
                _ if !is_component => continue,
                // a class that the site includes is in the catalog of every node
                ScopeKind::Site if !is_class => {}
                ScopeKind::Application => {
                    let capabilities = self.component_capabilities(evaluator, id)?;
                    if !capabilities.is_empty() {
                        components.push(GraphComponent {
                            id,
                            application,
                            reference,
                            capabilities,
                        });
                        continue;
                    }
                }
                _ => continue,
            }
            let text = format!(
                "Only application components can appear inside a site - {reference} is not allowed"
            );
            return fail_at(text, &self.resource_location(id));
        }
        Ok(components)
    }

    /// Checks the mappings and the parameters of a component.
    fn check_component(
        &self,
        evaluator: &mut Evaluator<'_>,
        component: &GraphComponent,
    ) -> EvalResult<()> {
        let id = component.id;
        let role = CapabilityRole::Produces;
        for reference in &component.capabilities.exports {
            let mapping = {
                let state = self.state();
                let resource = state.catalog.resource(id);
                state
                    .applications
                    .mapping(role, resource, &reference.type_name)
            };
            if mapping.is_none() {
                return self.report_missing_clause(role, id, reference);
            }
        }
        let mut provided = FastHashSet::default();
        for reference in &component.capabilities.consumes {
            self.add_provided(evaluator, id, reference, &mut provided)?;
        }
        self.check_component_parameters(evaluator, id, &provided)
    }

    /// Adds the parameters for which a consumed capability may have a value.
    fn add_provided(
        &self,
        evaluator: &mut Evaluator<'_>,
        id: ResourceId,
        reference: &CatalogReference,
        provided: &mut FastHashSet<Arc<str>>,
    ) -> EvalResult<()> {
        let role = CapabilityRole::Consumes;
        let mapping = {
            let state = self.state();
            let resource = state.catalog.resource(id);
            state
                .applications
                .mapping(role, resource, &reference.type_name)
        };
        let Some(mapping) = mapping else {
            return self.report_missing_clause(role, id, reference);
        };
        provided.extend(mapping.names.iter().cloned());
        if let Some((_, kind)) = self.find_declared_type(evaluator, &reference.type_name)? {
            provided.extend(kind.parameter_names());
        }
        Ok(())
    }

    /// Checks names and types of the parameters that the declaration gives, and that consumed
    /// capabilities can give the others.
    fn check_component_parameters(
        &self,
        evaluator: &mut Evaluator<'_>,
        id: ResourceId,
        provided: &FastHashSet<Arc<str>>,
    ) -> EvalResult<()> {
        let checked = {
            let state = self.state();
            let resource = state.catalog.resource(id);
            checked_code(resource).map(|code| (code, given(resource), resource.to_string()))
        };
        let Some((code, given, label)) = checked else {
            return self.check_resource(evaluator, id);
        };
        let is_class = self.state().catalog.resource(id).is_class();
        // data of Hiera may depend on facts of the node
        let is_optional = |name: &str| is_class || provided.contains(name);
        evaluator.parameter_mismatch_besides(&code, &label, &given, is_optional)
    }

    /// Checks that every capability that is consumed or required is exported, and exported once.
    fn check_exports(&self, components: &[GraphComponent]) -> EvalResult<()> {
        let mut exported: FastHashMap<&CatalogReference, &CatalogReference> =
            FastHashMap::default();
        for component in components {
            for capability in &component.capabilities.exports {
                if let Some(first) = exported.insert(capability, &component.reference) {
                    let text = format!(
                        "'{capability}' is exported by both '{first}' and '{}'",
                        component.reference
                    );
                    return fail_at(text, &self.resource_location(component.id));
                }
            }
        }
        let mut errors = Vec::new();
        for component in components {
            let requires = component.capabilities.requires.iter();
            let requires = requires.map(|capability| (capability, "require"));
            let consumes = component.capabilities.consumes.iter();
            let consumes = consumes.map(|capability| (capability, "consume"));
            for (capability, name) in requires.chain(consumes) {
                if !exported.contains_key(capability) {
                    let text = format!(
                        "Capability '{capability}' referenced by '{name}' is never exported"
                    );
                    errors.push(error_at(text, &self.resource_location(component.id)));
                }
            }
        }
        self.fail_with(errors)
    }
}

/// The definition whose parameters a component must fit; `None` for native types.
fn checked_code(resource: &CatalogResource) -> Option<CatalogBody> {
    match &resource.kind {
        ResourceKind::DefinedType(defined) => Some(defined.code.clone()),
        ResourceKind::Class(class) => class.as_ref().map(|class| class.code.clone()),
        ResourceKind::Native(_) | ResourceKind::Node(_) => None,
    }
}

/// The parameters of a resource without metaparameters and undefined values.
fn given(resource: &CatalogResource) -> Hash {
    let parameters = resource.parameters.iter();
    parameters
        .filter(|(name, parameter)| {
            Metaparameter::find(name).is_none() && ***name != *"name" && !parameter.value.is_undef()
        })
        .map(|(name, parameter)| (&**name, parameter.value.clone()))
        .collect()
}
