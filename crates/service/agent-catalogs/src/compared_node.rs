//! A node that is classified without a copy of its facts: [`ComparedNode`].
//!
//! Invariant: trusted data are those of the certificate of the request, never those of an earlier one.

use std::borrow::Cow;

use classifier::{ClassifiedNode, FactPath, find_below, find_text_below};
use environments::EnvironmentName;
use inventory::{FactValue, KnownFacts};
use pcp::Certname;

use crate::AgentIdentity;

/// The node of a request that brings no facts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ComparedNode<'n> {
    pub(crate) agent: &'n AgentIdentity,
    /// The environment of the request.
    pub(crate) environment: &'n EnvironmentName,
    /// Facts that the node sent last; `None` if it has not sent any yet.
    pub(crate) facts: Option<&'n KnownFacts>,
}

impl ClassifiedNode for ComparedNode<'_> {
    fn certname(&self) -> &Certname {
        &self.agent.certname
    }

    fn requested_environment(&self) -> Option<&str> {
        Some(self.environment.as_str())
    }

    fn text(&self, path: &FactPath) -> Option<Cow<'_, str>> {
        match (path, self.facts) {
            (FactPath::Name, _) => Some(self.agent.certname.as_str().into()),
            (FactPath::Trusted(steps), _) => find_text_below(&self.agent.trusted, steps),
            (FactPath::Fact(steps), Some(KnownFacts::Embedded(known))) => {
                find_below(known.facts(), steps, FactValue::get, FactValue::element_at)?.text()
            }
            (FactPath::Fact(steps), Some(KnownFacts::OfPuppetDb(known))) => {
                find_text_below(&known.facts, steps)
            }
            (FactPath::Fact(_), None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use classifier::{ClassifiedNode as _, FactPath, FactPathStep, NodeFacts};
    use inventory::{Inventory, KnownFacts, NodeRecord};
    use jiff::Timestamp;
    use serde_json::{Map, Value as Json, json};
    use store::{Store, StoreConfig};

    use super::ComparedNode;
    use crate::AgentIdentity;

    fn object(json: Json) -> Map<String, Json> {
        serde_json::from_value(json).unwrap()
    }

    async fn embedded(record: &NodeRecord) -> KnownFacts {
        let directory = tempfile::tempdir().unwrap();
        let config = StoreConfig::sqlite(directory.path().join("tutti.db"));
        let store = Store::open(&config).await.unwrap();
        let inventory = Inventory::embedded(store).await.unwrap();
        let certname = "node1".parse().unwrap();
        let recording = inventory.record_facts(&certname, record.clone());
        recording.await.unwrap();
        inventory.known_facts(&certname).await.unwrap().unwrap()
    }

    /// The paths of all steps that the facts of the test have, and of some that they do not have.
    fn paths() -> Vec<FactPath> {
        let key = |name: &str| FactPathStep::Key(name.to_owned());
        let below = [
            vec![],
            vec![key("os")],
            vec![key("os"), key("name")],
            vec![key("os"), FactPathStep::Index(0)],
            vec![key("list"), FactPathStep::Index(1)],
            vec![key("list"), FactPathStep::Index(2)],
            vec![key("list"), key("0")],
            vec![key("count")],
            vec![key("ratio")],
            vec![key("yes")],
            vec![key("nothing")],
            vec![key("absent")],
            vec![key("certname")],
            vec![key("extensions"), key("pp_role")],
            vec![FactPathStep::Index(0)],
        ];
        let each = below
            .into_iter()
            .flat_map(|steps| [FactPath::Fact(steps.clone()), FactPath::Trusted(steps)]);
        each.chain([FactPath::Name]).collect()
    }

    #[tokio::test]
    async fn rules_read_the_same_values_in_whatever_form_the_facts_are() {
        let extensions = BTreeMap::from([("pp_role".to_owned(), "web".to_owned())]);
        let agent = AgentIdentity::new("node1".parse().unwrap(), extensions);
        let facts = object(json!({
            "os": {"name": "Debian"}, "list": ["a", "b"], "count": 8, "ratio": 0.5, "yes": true, "nothing": null,
        }));
        let record = NodeRecord {
            facts: Arc::new(facts.clone()),
            // those of an earlier certificate do not count
            trusted: Arc::new(object(json!({"extensions": {"pp_role": "database"}}))),
            environment: Some("production".to_owned()),
            timestamp: Timestamp::now(),
        };
        let expected = NodeFacts {
            certname: agent.certname.clone(),
            fact: Json::Object(facts),
            trusted: Json::Object(agent.trusted.clone()),
            requested_environment: Some("test".to_owned()),
        };
        let environment = "test".parse().unwrap();
        for facts in [embedded(&record).await, KnownFacts::OfPuppetDb(record)] {
            let node = ComparedNode {
                agent: &agent,
                environment: &environment,
                facts: Some(&facts),
            };
            assert_eq!(node.certname(), expected.certname());
            assert_eq!(node.requested_environment(), Some("test"));
            for path in paths() {
                assert_eq!(node.text(&path), expected.text(&path), "{path:?}");
            }
        }
    }
}
