//! Answers agents that ask whether their last catalog is still that of their node: [`CatalogState`].
//!
//! Invariant: a catalog is called current only if a request with the facts from which it was compiled would
//! get the same document. Other facts come with the next request for a catalog.

use std::fmt;

use environments::EnvironmentName;
use flate2::read::GzDecoder;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::agent_catalogs::AgentCatalogs;
use crate::compile_cause::CompileCause;
use crate::{
    AgentCatalogError, AgentCatalogRequest, AgentIdentity, CatalogInput, CompressedCatalog,
    FactsPolicy,
};

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
        let (node, environment) = match self.classify_request(&request).await {
            Err(AgentCatalogError::OfPuppetserver { .. }) => {
                return outdated("a puppetserver compiles the catalogs of the node");
            }
            classified => classified?,
        };
        if environment != request.environment {
            return outdated("the node belongs to another environment");
        }
        let node = node.without_reported_facts();
        let opened = self.inner.catalogs.environment(&environment, None).await?;
        // The inventory may have the facts of another program than Puppet, such as an agent's own. They are not
        // those of the next request for a catalog, which alone are compared.
        let policy = FactsPolicy::Ignore;
        let current = Box::pin(self.current_catalog(&request, &node, &opened, policy));
        match current.await? {
            Err(causes) => outdated(causes.first().map_or("it is not known", summarize)),
            Ok(current) if has_uuid(current.body(), catalog_uuid) => {
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

/// True if a document has this `catalog_uuid`. The key is among the first of a document, and only the part
/// before it is decompressed.
fn has_uuid(body: &CompressedCatalog, catalog_uuid: &str) -> bool {
    let gzip = body.gzip();
    let reader = std::io::BufReader::new(GzDecoder::new(&*gzip));
    let mut found = None;
    let mut document = serde_json::Deserializer::from_reader(reader);
    // ends with an error as soon as the key is found
    let _ = document.deserialize_map(UuidVisitor { found: &mut found });
    found.as_deref() == Some(catalog_uuid)
}

struct UuidVisitor<'f> {
    found: &'f mut Option<String>,
}

impl<'de> Visitor<'de> for UuidVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a catalog")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "catalog_uuid" {
                *self.found = map.next_value()?;
                return Ok(());
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_document_is_found_without_the_rest() {
        let body = |text: &str| CompressedCatalog::new(text);
        let whole = body(r#"{"tags": ["a"], "catalog_uuid": "x", "resources": []}"#);
        assert!(has_uuid(&whole, "x"));
        assert!(!has_uuid(&whole, "y"));
        assert!(has_uuid(
            &body(r#"{"catalog_uuid": "x", "resources": [}"#),
            "x"
        ));
        for other in [
            r#"{"catalog_uuid": null}"#,
            "{}",
            "[]",
            "",
            r#"{"resources": [{"catalog_uuid": "x"}]}"#,
        ] {
            assert!(!has_uuid(&body(other), "x"), "{other}");
        }
    }
}
