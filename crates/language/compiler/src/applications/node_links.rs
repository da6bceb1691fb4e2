//! Capabilities and the attributes of components in the form that the agent of a node understands.
//!
//! Agents of Puppet 7 and later know neither capabilities nor `export` and `consume`. Their catalogs
//! have only the capabilities with a provider, which tests that the capability is available, and
//! `require` in place of `consume`. Older agents get both as Puppet 6 wrote them.
//!
//! Invariant: a capability that a catalog does not show is named by no relationship in it.

use std::sync::Arc;

use evaluator::{EvalResult, Evaluator};
use pcore::Value;
use resource_types::RubyLibrary;

use super::links::{CONSUME, EXPORT};
use super::source::ProducedCapability;
use crate::catalog::{ResourceId, ResourceKind, ResourceParameter};
use crate::catalog_reads::VolatileCause;
use crate::compilation::Compilation;
use crate::reference::CatalogReference;

/// The first version of Puppet without capabilities.
const FIRST_MAJOR_WITHOUT_CAPABILITIES: u32 = 7;

impl Compilation<'_> {
    /// Keeps the values of what the node produces, and writes relationships to capabilities for
    /// agents without capabilities.
    pub(crate) fn finish_capabilities(&self, evaluator: &mut Evaluator<'_>) -> EvalResult<()> {
        if self.state().applications.capabilities.is_empty() {
            return Ok(());
        }
        self.keep_produced();
        // the values are kept with each catalog that the node gets
        self.state().add_volatile(VolatileCause::Capabilities);
        if self.agent_knows_capabilities() {
            return Ok(());
        }
        let capabilities: Vec<ResourceId> = {
            let state = self.state();
            state.applications.capabilities.keys().copied().collect()
        };
        for id in capabilities {
            let kind = self.state().catalog.resource(id).kind.clone();
            let is_shown = self.has_provider(&kind);
            self.state().catalog.resource_mut(id).is_pruned = !is_shown;
        }
        let ids: Vec<ResourceId> = self.state().catalog.ids().collect();
        for id in ids {
            self.replace_capabilities(evaluator, id)?;
        }
        Ok(())
    }

    /// Writes `export` and `consume` for an agent that knows them. They are no parameters before, so
    /// that no check refuses them.
    pub(crate) fn write_links(&self) {
        if !self.agent_knows_capabilities() {
            return;
        }
        let mut state = self.state();
        let ids: Vec<ResourceId> = state.applications.components.clone();
        for id in ids {
            let resource = state.catalog.resource_mut(id);
            let Some(links) = resource.links.take() else {
                continue;
            };
            for (name, link) in [(EXPORT, links.export), (CONSUME, links.consume)] {
                if let Some(link) = link {
                    resource.parameters.insert(name.into(), link);
                }
            }
        }
    }

    fn agent_knows_capabilities(&self) -> bool {
        let facts = &self.request.facts;
        let version = facts.get_str("clientversion");
        let version = version.or_else(|| facts.get_str("puppetversion"));
        let major = version
            .and_then(Value::as_str)
            .and_then(|version| version.split('.').next()?.parse::<u32>().ok());
        major.is_some_and(|major| major < FIRST_MAJOR_WITHOUT_CAPABILITIES)
    }

    /// True for a type that an agent can test: one that may be `present`, with a provider.
    fn has_provider(&self, kind: &ResourceKind) -> bool {
        let ResourceKind::Native(ty) = kind else {
            return false;
        };
        ty.attribute_kind("ensure").is_some()
            && !RubyLibrary::provider_features(self.environment, ty.name()).is_empty()
    }

    fn keep_produced(&self) {
        let produced: Vec<ResourceId> = {
            let state = self.state();
            let capabilities = state.applications.capabilities.iter();
            let mut ids: Vec<ResourceId> = capabilities
                .filter(|(_, producer)| producer.is_some())
                .map(|(id, _)| *id)
                .collect();
            ids.sort_unstable();
            ids
        };
        for id in produced {
            let attributes = self.capability_values(id);
            let mut state = self.state();
            let resource = state.catalog.resource(id);
            let produced = ProducedCapability {
                type_name: Arc::clone(&resource.type_name),
                title: Arc::clone(&resource.title),
                attributes,
            };
            state.applications.produced.push(produced);
        }
    }

    /// Replaces the capabilities in `require` of a resource, and adds those that it consumes.
    fn replace_capabilities(
        &self,
        evaluator: &mut Evaluator<'_>,
        id: ResourceId,
    ) -> EvalResult<()> {
        let (require, consume) = {
            let state = self.state();
            let resource = state.catalog.resource(id);
            let links = resource.links.as_ref();
            let consume = links.and_then(|links| links.consume.clone());
            (resource.parameters.get("require").cloned(), consume)
        };
        let mut kept = Vec::new();
        let mut is_changed = false;
        if let Some(require) = &require {
            is_changed |= self.replaced(evaluator, id, &require.value, &mut kept)?;
        }
        if let Some(consume) = &consume {
            is_changed |= self.replaced(evaluator, id, &consume.value, &mut kept)?;
        }
        let Some(parameter) = require.or(consume) else {
            return Ok(());
        };
        if !is_changed {
            return Ok(());
        }
        let mut state = self.state();
        let resource = state.catalog.resource_mut(id);
        if kept.is_empty() {
            resource.parameters.shift_remove("require");
            return Ok(());
        }
        let value = match kept.len() {
            1 => kept.remove(0),
            _ => Value::array(kept),
        };
        let parameter = ResourceParameter { value, ..parameter };
        resource.parameters.insert("require".into(), parameter);
        Ok(())
    }

    /// Adds the references of a relationship to `kept`, with a producer of this node in place of a
    /// capability that the catalog does not show. True if a capability was among them.
    fn replaced(
        &self,
        evaluator: &mut Evaluator<'_>,
        id: ResourceId,
        value: &Value,
        kept: &mut Vec<Value>,
    ) -> EvalResult<bool> {
        let reference = match value {
            Value::Array(values) => {
                let mut is_changed = false;
                for value in values.iter() {
                    is_changed |= self.replaced(evaluator, id, value, kept)?;
                }
                return Ok(is_changed);
            }
            Value::Type(ty) => CatalogReference::of(ty),
            _ => None,
        };
        let capability = match &reference {
            Some(reference) if self.is_capability(evaluator, reference)? => {
                self.find_resource(&reference.type_name, &reference.title)?
            }
            _ => None,
        };
        let Some(capability) = capability else {
            kept.push(value.clone());
            return Ok(false);
        };
        let state = self.state();
        if !state.catalog.resource(capability).is_pruned {
            kept.push(value.clone());
            return Ok(true);
        }
        let producer = state.applications.capabilities.get(&capability);
        if let Some(producer) = producer.copied().flatten()
            && producer != id
        {
            let component = Value::from(state.catalog.resource(producer).to_string());
            if !kept.contains(&component) {
                kept.push(component);
            }
        }
        Ok(true)
    }
}
