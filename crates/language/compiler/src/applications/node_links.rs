//! Capabilities and the attributes of components in the form that the agent of a node understands.
//!
//! Agents of Puppet 7 and later know neither capabilities nor `export` and `consume`. Their catalogs
//! have only the capabilities with a provider, which tests that the capability is available, and
//! `require` in place of `consume`. Older agents get both as Puppet 6 wrote them.

use std::sync::Arc;

use evaluator::EvalResult;
use pcore::Value;
use resource_types::RubyLibrary;

use super::links::{CONSUME, EXPORT};
use super::source::ProducedCapability;
use crate::catalog::{ResourceId, ResourceKind};
use crate::catalog_reads::VolatileCause;
use crate::compilation::Compilation;

/// The first version of Puppet without capabilities.
const FIRST_MAJOR_WITHOUT_CAPABILITIES: u32 = 7;

impl Compilation<'_> {
    /// Keeps the values of what the node produces, and writes relationships to capabilities for
    /// agents without capabilities.
    pub(crate) fn finish_capabilities(&self) -> EvalResult<()> {
        let (has_capabilities, has_left_out) = {
            let state = self.state();
            let applications = &state.applications;
            (
                !applications.capabilities.is_empty(),
                !applications.left_out.is_empty(),
            )
        };
        if !has_capabilities {
            return match has_left_out {
                true => self.finish_relationships(),
                false => Ok(()),
            };
        }
        self.keep_produced();
        // the values are kept with each catalog that the node gets
        self.state().add_volatile(VolatileCause::Capabilities);
        if !self.agent_knows_capabilities() {
            self.prune_capabilities();
        }
        self.finish_relationships()
    }

    /// Takes the capabilities that an agent cannot test out of the document.
    fn prune_capabilities(&self) {
        let capabilities: Vec<ResourceId> = {
            let state = self.state();
            state.applications.capabilities.keys().copied().collect()
        };
        for id in capabilities {
            let kind = self.state().catalog.resource(id).kind.clone();
            let is_shown = self.has_provider(&kind);
            self.state().catalog.resource_mut(id).is_pruned = !is_shown;
        }
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

    pub(super) fn agent_knows_capabilities(&self) -> bool {
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
}
