//! The data of a node from which its catalog is compiled: [`CatalogNode`].
//!
//! Invariant: trusted data are those of the node's certificate, never a fact.

use std::sync::Arc;

use classifier::{
    ClassifiedNode, Classifier, GroupClasses, GroupConflict, NodeClassification, NodeFacts,
};
use compiler::{ClassifiedClass, DeferredComponents, trusted_data, with_agent_facts};
use environments::EnvironmentName;
use pcore::{Hash, Value};
use pcp::Certname;
use serde_json::{Map, Value as Json};

use super::error::CatalogError;

/// A node with its facts and its classification.
#[derive(Debug, Clone)]
pub struct CatalogNode {
    pub(super) certname: Certname,
    /// Facts as the agent sent them; `None` after [`Self::without_reported_facts`].
    pub(super) reported_facts: Option<Json>,
    pub(super) facts: Hash,
    /// Bytes of the facts, as JSON.
    pub(super) facts_bytes: usize,
    pub(super) trusted: Hash,
    pub(super) classes: Vec<ClassifiedClass>,
    /// Configuration data of node groups, as Hiera looks them up.
    pub(super) config_data: Arc<Hash>,
    /// Variables of node groups.
    pub(super) parameters: Hash,
    /// Environment of the node groups, else the one that the agent requested last.
    pub(super) environment: Option<EnvironmentName>,
    /// True if the environment is that of node groups, which the agent cannot choose.
    pub(super) has_group_environment: bool,
    /// Names of the node groups that the node belongs to.
    groups: Vec<String>,
    /// As in [`CompileRequest`](compiler::CompileRequest).
    pub(super) deferred_components: Arc<DeferredComponents>,
}

impl CatalogNode {
    /// The node as the inventory and the classifier know it. `facts` replace those of the inventory.
    pub(super) async fn read(
        classifier: &Classifier,
        certname: &Certname,
        facts: Option<Map<String, Json>>,
    ) -> Result<Self, CatalogError> {
        let known = classifier.node_facts(certname).await;
        let mut known = known.map_err(CatalogError::FactSource)?;
        if let Some(facts) = facts {
            known.fact = Json::Object(facts);
        }
        if known.fact.as_object().is_none_or(Map::is_empty) {
            return Err(CatalogError::NoFacts {
                certname: certname.clone(),
            });
        }
        Self::classify(classifier, known)
    }

    /// The node with these facts, as the node groups classify it.
    pub(super) fn classify(
        classifier: &Classifier,
        facts: NodeFacts,
    ) -> Result<Self, CatalogError> {
        let classified = classifier.classify(&facts);
        Self::classified(classifier, facts, classified)
    }

    /// A node with this data of its certificate, as the node groups classify it. The result has no facts.
    pub(super) fn classify_without_facts(
        classifier: &Classifier,
        node: &impl ClassifiedNode,
        trusted: Map<String, Json>,
    ) -> Result<Self, CatalogError> {
        let without_facts = NodeFacts {
            certname: node.certname().clone(),
            fact: Json::Null,
            trusted: Json::Object(trusted),
            requested_environment: node.requested_environment().map(str::to_owned),
        };
        Self::classified(classifier, without_facts, classifier.classify(node))
    }

    fn classified(
        classifier: &Classifier,
        facts: NodeFacts,
        classified: Result<NodeClassification, Box<GroupConflict>>,
    ) -> Result<Self, CatalogError> {
        let classified = classified.map_err(CatalogError::Classification)?;
        let node = Self::new(facts, classified)?;
        // Where no groups are used, agents choose their environments, as with Puppet itself.
        let has_group_environment = node.has_group_environment && !classifier.has_default_groups();
        Ok(Self {
            has_group_environment,
            ..node
        })
    }

    /// The environment that node groups assign; `None` if the agent may choose it.
    #[must_use]
    pub fn group_environment(&self) -> Option<&EnvironmentName> {
        self.environment
            .as_ref()
            .filter(|_| self.has_group_environment)
    }

    /// The node with these trusted data, which are those of no certificate: a service gives them.
    #[must_use]
    pub fn with_given_trusted(self, trusted: &Map<String, Json>) -> Self {
        Self {
            trusted: to_hash(&Json::Object(trusted.clone())),
            ..self
        }
    }

    /// Names of the node groups that the node belongs to, in alphabetical order.
    #[must_use]
    pub fn groups(&self) -> &[String] {
        &self.groups
    }

    /// Certname of the node.
    #[must_use]
    pub fn certname(&self) -> &Certname {
        &self.certname
    }

    /// All that a catalog depends on of the node, except its facts: classification and trusted data.
    #[must_use]
    pub fn classification(&self) -> NodeInputs<'_> {
        NodeInputs {
            trusted: &self.trusted,
            classes: &self.classes,
            config_data: &self.config_data,
            parameters: &self.parameters,
        }
    }

    /// The facts as a compilation sees them, with those that agents add.
    #[must_use]
    pub fn facts(&self) -> &Hash {
        &self.facts
    }

    /// The environment of the node, or Puppet's default.
    pub(super) fn environment_or_default(&self) -> Result<EnvironmentName, CatalogError> {
        match &self.environment {
            Some(environment) => Ok(environment.clone()),
            None => parse_environment(&self.certname, DEFAULT_ENVIRONMENT, "Puppet's default"),
        }
    }

    /// The node as it waits for a compilation here, which needs the facts as values only.
    #[must_use]
    pub fn without_reported_facts(self) -> Self {
        Self {
            reported_facts: None,
            ..self
        }
    }

    /// The same node, whose catalog leaves these components for a later run.
    #[must_use]
    pub fn with_deferred_components(self, deferred_components: DeferredComponents) -> Self {
        Self {
            deferred_components: Arc::new(deferred_components),
            ..self
        }
    }

    fn new(known: NodeFacts, classified: NodeClassification) -> Result<Self, CatalogError> {
        let environment = environment_of(&known, &classified)?;
        let has_group_environment = classified.environment.is_some() && !classified.agent_specified;
        let facts = to_hash(&known.fact);
        let trusted = trusted_data(known.certname.as_str(), "remote", known.trusted.as_object());
        let classes = classified.classes.into_iter();
        let groups = classified.groups.into_iter();
        Ok(Self {
            groups: groups.map(|group| group.name).collect(),
            facts: with_agent_facts(facts, known.certname.as_str()),
            trusted,
            classes: classes
                .map(|(name, parameters)| ClassifiedClass {
                    name,
                    parameters: parameters
                        .iter()
                        .map(|(name, value)| (Value::from(name.as_str()), Value::from_json(value)))
                        .collect(),
                })
                .collect(),
            config_data: Arc::new(config_data(&classified.config_data)),
            parameters: classified
                .parameters
                .iter()
                .map(|(name, value)| (Value::from(name.as_str()), Value::from_json(value)))
                .collect(),
            environment,
            has_group_environment,
            facts_bytes: json_bytes(&known.fact),
            reported_facts: Some(known.fact),
            deferred_components: Arc::default(),
            certname: known.certname,
        })
    }
}

/// Classification and trusted data of a node.
#[derive(Debug, Clone, Copy)]
pub struct NodeInputs<'n> {
    pub trusted: &'n Hash,
    pub classes: &'n [ClassifiedClass],
    pub config_data: &'n Hash,
    pub parameters: &'n Hash,
}

/// The data of all classes by `CLASS::PARAMETER`.
fn config_data(classes: &GroupClasses) -> Hash {
    let classes = classes.iter();
    let all = classes.flat_map(|(class, parameters)| {
        let names = parameters.iter();
        names.map(move |(name, value)| (format!("{class}::{name}"), value))
    });
    all.map(|(key, value)| (Value::from(key.as_str()), Value::from_json(value)))
        .collect()
}

fn environment_of(
    known: &NodeFacts,
    classified: &NodeClassification,
) -> Result<Option<EnvironmentName>, CatalogError> {
    let of_groups = classified.environment.as_ref();
    let (name, origin) = match (of_groups, &known.requested_environment) {
        (Some(name), _) => (name, "its node groups"),
        (None, Some(name)) => (name, "its agent"),
        (None, None) => return Ok(None),
    };
    parse_environment(&known.certname, name, origin).map(Some)
}

fn parse_environment(
    certname: &Certname,
    name: &str,
    origin: &'static str,
) -> Result<EnvironmentName, CatalogError> {
    name.parse().map_err(|_| CatalogError::EnvironmentName {
        certname: certname.clone(),
        name: name.chars().take(SHOWN_NAME).collect(),
        origin,
    })
}

/// The environment of nodes for which neither a group nor the agent names one, as in Puppet.
const DEFAULT_ENVIRONMENT: &str = "production";

/// Characters of an invalid name that a message shows.
const SHOWN_NAME: usize = 64;

/// Bytes that a value has as JSON, about.
fn json_bytes(value: &Json) -> usize {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => SCALAR_BYTES,
        Json::String(text) => text.len() + SCALAR_BYTES,
        Json::Array(values) => SCALAR_BYTES + values.iter().map(json_bytes).sum::<usize>(),
        Json::Object(entries) => {
            let entries = entries.iter();
            let entries = entries.map(|(key, value)| key.len() + SCALAR_BYTES + json_bytes(value));
            SCALAR_BYTES + entries.sum::<usize>()
        }
    }
}

/// Bytes of a number, and of the quotes and separators of other values.
const SCALAR_BYTES: usize = 4;

fn to_hash(json: &Json) -> Hash {
    match Value::from_json(json) {
        Value::Hash(hash) => Hash::clone(&hash),
        _ => Hash::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::json_bytes;

    #[test]
    fn the_bytes_of_facts_are_about_those_of_their_text() {
        let disks: Vec<_> = (0..100)
            .map(|it| json!({"name": format!("sd{it}"), "bytes": 1_000_000 + it, "ssd": true}))
            .collect();
        for facts in [
            json!({"os": {"family": "Debian", "release": {"major": "12"}}, "disks": disks}),
            json!({"text": "x".repeat(100_000)}),
            json!(vec![1; 1_000]),
        ] {
            let (bytes, text) = (json_bytes(&facts), facts.to_string().len());
            assert!(bytes >= text / 2 && bytes <= text * 3, "{bytes} of {text}");
        }
    }
}
