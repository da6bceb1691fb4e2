//! Answers agents that ask whether their last catalog is still that of their node: [`CatalogState`].
//!
//! Invariant: a catalog is called current only if a request with the facts from which it was compiled would
//! get the same document. Other facts come with the next request for a catalog.

use std::sync::Arc;

use environments::EnvironmentName;

use crate::agent_catalogs::AgentCatalogs;
use crate::compile_cause::CompileCause;
use crate::{AgentCatalogError, AgentCatalogRequest, AgentIdentity, CatalogInput, FactsPolicy};

/// Whether the last catalog of a node is still the right one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatalogState {
    Current,
    /// A compilation may give another one.
    Outdated {
        /// The reason, in a few words.
        reason: String,
    },
}

impl AgentCatalogs {
    /// Compares a catalog that an agent has with the one that it would get now. Nothing is compiled.
    ///
    /// # Errors
    /// The node groups contradict each other, the node's facts are not known, or the engine is busy.
    pub async fn check_catalog(
        &self,
        agent: AgentIdentity,
        environment: EnvironmentName,
        catalog_uuid: &str,
    ) -> Result<CatalogState, AgentCatalogError> {
        let outdated = |reason: &str| {
            Ok(CatalogState::Outdated {
                reason: reason.to_owned(),
            })
        };
        // first, because it stands for the age of all that is read
        let kept = self.inner.catalogs.begin_catalog(&agent.certname);
        let request = AgentCatalogRequest::from_known_facts(agent, environment);
        let (node, environment) = match self.classify_compared(&request).await {
            Err(AgentCatalogError::OfPuppetserver { .. }) => {
                return outdated("a puppetserver compiles the catalogs of the node");
            }
            classified => classified?,
        };
        if environment != request.environment {
            return outdated("the node belongs to another environment");
        }
        // The inventory may have the facts of another program than Puppet, such as an agent's own. They are not
        // those of the next request for a catalog, which alone are compared.
        let (node, policy) = (Arc::new(node), FactsPolicy::Ignore);
        let current = self.current_catalog(&request, &node, &environment, policy);
        let (_, current) = Box::pin(current).await?;
        match current {
            Err(causes) => outdated(causes.first().map_or("it is not known", summarize)),
            Ok(current) if current.has_uuid(catalog_uuid) => {
                self.record_use(&request, &current, kept).await?;
                Ok(CatalogState::Current)
            }
            Ok(current) if current.is_given() => outdated("the node has got another catalog since"),
            Ok(_) => outdated("there is a new catalog"),
        }
    }
}

fn summarize(cause: &CompileCause) -> &'static str {
    match cause {
        CompileCause::NoCatalog => "it is not known here",
        CompileCause::NoVersion => "the environment has no versions",
        CompileCause::Volatile { .. } => "it depends on data that change without notice",
        CompileCause::Input { input, .. } => summarize_input(*input),
        CompileCause::Facts { .. } => "facts have changed",
        CompileCause::OutsideFiles { .. } | CompileCause::UnknownOutsideFiles => {
            "files outside of the version have changed"
        }
        CompileCause::Queries { .. } => "data of other nodes have changed",
        CompileCause::QueryFailed { .. } => "data of other nodes are not available",
    }
}

fn summarize_input(input: CatalogInput) -> &'static str {
    match input {
        CatalogInput::Program => "this server is another build, or has other settings",
        CatalogInput::Environment => "the node belongs to another environment",
        CatalogInput::Code => "another version of the code is live",
        CatalogInput::Classes => "the classes of its node groups have changed",
        CatalogInput::ConfigData => "the configuration data of its node groups have changed",
        CatalogInput::Variables => "the variables of its node groups have changed",
        CatalogInput::Trusted => "the data of its certificate have changed",
        CatalogInput::ServerFacts => "the facts of this server have changed",
        CatalogInput::Format => "the agent asked for another form of it",
        CatalogInput::FactNames => "it has facts of other names",
    }
}
