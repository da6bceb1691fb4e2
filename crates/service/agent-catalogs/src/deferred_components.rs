//! The components that the catalog of one run leaves for a later one.
//!
//! Invariant: a component that the last catalog of the node had is left out only if what it needs is missing, since its
//! absence could remove what it manages.

use std::collections::HashSet;

use compiler::DeferredComponents;
use environments::EnvironmentName;
use serde::Deserialize;

use crate::agent_catalogs::{AgentCatalogRequest, AgentCatalogs};

/// The part of a catalog that names its resources.
#[derive(Deserialize)]
struct NamedResources {
    #[serde(default)]
    resources: Vec<NamedResource>,
}

#[derive(Deserialize)]
struct NamedResource {
    #[serde(rename = "type")]
    type_name: String,
    title: String,
}

impl AgentCatalogs {
    /// The components that the catalog of this request leaves out.
    pub(crate) async fn find_deferred(
        &self,
        request: &AgentCatalogRequest,
        environment: &EnvironmentName,
    ) -> DeferredComponents {
        let waiting = &request.waiting;
        let mut deferred = DeferredComponents {
            left_out: waiting.missing.clone(),
            followers: waiting.present.clone(),
        };
        if waiting.present.is_empty() {
            return deferred;
        }
        // the catalogs of an environment without versions are not kept, so all of them may have been in one
        let Some(last) = self.last_resources(request, environment).await else {
            return deferred;
        };
        let new = waiting.present.iter().filter(|it| !last.contains(*it));
        deferred.left_out.extend(new.cloned());
        deferred
    }

    /// References of the resources in the last catalog of the node in this environment; `None` if there is none.
    async fn last_resources(
        &self,
        request: &AgentCatalogRequest,
        environment: &EnvironmentName,
    ) -> Option<HashSet<String>> {
        let kept = self.kept_catalogs(&request.agent.certname).await;
        let last = kept.into_iter().find(|it| it.environment == *environment)?;
        let newest = last.newest.clone()?;
        let named: NamedResources = serde_json::from_slice(&newest.body.text()).ok()?;
        let resources = named.resources.into_iter();
        let references = resources.map(|it| format!("{}[{}]", it.type_name, it.title));
        Some(references.collect())
    }
}
