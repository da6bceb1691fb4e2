//! Applications in the catalog of a node: those whose node map names the node.

use std::sync::Arc;

use evaluator::{EvalError, EvalResult, EvalUnwind, Evaluator, raise};
use pcore::{FastHashMap, FastHashSet};
use resource_types::Metaparameter;

use super::component_order::producers_first;
use crate::catalog::ResourceId;
use crate::compilation::Compilation;
use crate::error::{error_at, fail_at};
use crate::reference::CatalogReference;

impl Compilation<'_> {
    /// Evaluates the applications that map components to the node, and puts the components in an
    /// order in which producers come before their consumers.
    pub(crate) fn evaluate_node_applications(
        &self,
        evaluator: &mut Evaluator<'_>,
    ) -> EvalResult<()> {
        let instances = self.state().applications.instances.clone();
        for id in instances {
            let node_map = self.node_map(id)?;
            if !self.has_components_here(id, &node_map) {
                continue;
            }
            {
                let mut state = self.state();
                state.catalog.resource_mut(id).is_pruned = false;
                state.applications.node_map = Some(node_map);
            }
            let result = self.evaluate_application(evaluator, id);
            self.state().applications.node_map = None;
            result?;
            self.remove_application_parameters(id);
        }
        self.check_mappings(evaluator)?;
        self.order_components(evaluator)
    }

    /// True if a component is mapped to the node. Notes the others, and the application if there are
    /// only others.
    fn has_components_here(
        &self,
        id: ResourceId,
        node_map: &FastHashMap<CatalogReference, Arc<str>>,
    ) -> bool {
        let certname = &self.request.certname;
        let elsewhere = node_map.iter().filter(|(_, node)| ***node != **certname);
        let elsewhere: Vec<CatalogReference> = elsewhere.map(|(it, _)| it.clone()).collect();
        let has_any = elsewhere.len() < node_map.len();
        let mut state = self.state();
        if !has_any {
            let application = state.catalog.resource(id).reference();
            state.applications.left_out.insert(application);
        }
        state.applications.left_out.extend(elsewhere);
        has_any
    }

    /// Evaluates an application; an error without a place gets that of its declaration.
    pub(super) fn evaluate_application(
        &self,
        evaluator: &mut Evaluator<'_>,
        id: ResourceId,
    ) -> EvalResult<()> {
        let result = self.evaluate_resource(evaluator, id);
        result.map_err(|unwind| match *unwind {
            EvalUnwind::Error(error) if error.location.is_none() => EvalError {
                hints: error.hints.clone(),
                ..error_at(error.message, &self.resource_location(id))
            }
            .into(),
            other => Box::new(other),
        })
    }

    /// The components of an application with the certnames that it maps them to.
    fn node_map(&self, id: ResourceId) -> EvalResult<FastHashMap<CatalogReference, Arc<str>>> {
        let mut map = FastHashMap::default();
        for (component, certname) in self.mapped_components(id)? {
            if map.contains_key(&component) {
                let application = self.label(id);
                let text = format!(
                    "Application {application} maps component {component} to multiple nodes"
                );
                return fail_at(text, &self.resource_location(id));
            }
            map.insert(component, certname);
        }
        Ok(map)
    }

    /// Removes the parameters of an application from the catalog: components have the values that
    /// they use, and the rest, with the map of all nodes, is for other nodes.
    fn remove_application_parameters(&self, id: ResourceId) {
        let mut state = self.state();
        let application = state.catalog.resource_mut(id);
        let parameters = &mut application.parameters;
        parameters.retain(|name, _| Metaparameter::find(name).is_some());
    }

    /// Puts components behind the producers of what they need. Defined types and classes are
    /// evaluated in this order; components of native types produce when one of them needs it.
    fn order_components(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<()> {
        let components = self.state().applications.components.clone();
        let mut named = Vec::with_capacity(components.len());
        for id in &components {
            named.push(self.component_capabilities(evaluator, *id)?);
        }
        let order = match producers_first(&named.iter().collect::<Vec<_>>()) {
            Ok(order) => order,
            Err(cycle) => {
                let labels = cycle.iter().map(|index| self.label(components[*index]));
                let path = labels.collect::<Vec<_>>().join(" -> ");
                return raise(format!("components wait for each other: {path}"));
            }
        };
        let is_component: FastHashSet<ResourceId> = components.iter().copied().collect();
        let ordered = order
            .iter()
            .map(|index| (components[*index], &named[*index]));
        let ordered = self.leave_out_deferred(ordered.collect());
        let mut state = self.state();
        for (id, named) in &ordered {
            if state.catalog.resource(*id).is_native() {
                // of two exporters the second fails when it is linked
                for export in &named.exports {
                    let exporters = &mut state.applications.native_exporters;
                    exporters.entry(export.clone()).or_insert(*id);
                }
            }
        }
        let ordered: Vec<ResourceId> = ordered.iter().map(|(id, _)| *id).collect();
        let waits: FastHashSet<ResourceId> = state.unevaluated.iter().copied().collect();
        state.unevaluated.retain(|id| !is_component.contains(id));
        let waiting = ordered.iter().filter(|id| waits.contains(id));
        state.unevaluated.extend(waiting);
        state.applications.components = ordered;
        Ok(())
    }

    /// Takes values and produces capabilities for the components of native types.
    pub(crate) fn link_native_components(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<()> {
        let components = self.state().applications.components.clone();
        for id in components {
            self.link_native_component(evaluator, id)?;
        }
        Ok(())
    }
}
