//! Facts of a node, as input of the classification. Main types: [`NodeFacts`], [`ClassifiedNode`],
//! [`FactSource`].

use std::borrow::Cow;

use async_trait::async_trait;
use pcp::Certname;
use serde_json::Value;

use crate::rule::{FactPath, find_text};

/// A node whose values rules can read. A caller that holds many nodes implements it without
/// copying their facts.
pub trait ClassifiedNode {
    /// Certname of the node.
    fn certname(&self) -> &Certname;

    /// The environment that the node's agent requested; `None` if unknown.
    fn requested_environment(&self) -> Option<&str>;

    /// The text of the string, boolean or number at the path; `None` for any other value.
    fn text(&self, path: &FactPath) -> Option<Cow<'_, str>>;
}

impl<S: ClassifiedNode + ?Sized> ClassifiedNode for &S {
    fn certname(&self) -> &Certname {
        (**self).certname()
    }

    fn requested_environment(&self) -> Option<&str> {
        (**self).requested_environment()
    }

    fn text(&self, path: &FactPath) -> Option<Cow<'_, str>> {
        (**self).text(path)
    }
}

/// The facts and trusted facts of one node, which rules are evaluated against.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeFacts {
    /// Certname of the node, which rules read as the path `name`.
    pub certname: Certname,
    /// JSON object of facts by name; with any other value the node has no facts.
    pub fact: Value,
    /// JSON object of the data from the node's certificate: `certname`, `extensions`, …
    pub trusted: Value,
    /// The environment that the agent requested; `None` if unknown.
    pub requested_environment: Option<String>,
}

/// A source of facts: PuppetDB or the embedded inventory.
#[async_trait]
pub trait FactSource: Send + Sync {
    /// Facts of a node; `None` if the node never reported any.
    ///
    /// # Errors
    /// The source is unavailable. The node is then not classified at all, because without its
    /// facts it would lose its groups.
    async fn facts(&self, certname: &Certname) -> Result<Option<NodeFacts>, FactSourceError>;
}

/// The facts of a node could not be read from their source.
#[derive(Debug, thiserror::Error)]
#[error("the facts of {certname} cannot be read")]
pub struct FactSourceError {
    /// Certname of the node whose facts were requested.
    pub certname: Certname,
    /// The underlying error of the source.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl ClassifiedNode for NodeFacts {
    fn certname(&self) -> &Certname {
        &self.certname
    }

    fn requested_environment(&self) -> Option<&str> {
        self.requested_environment.as_deref()
    }

    fn text(&self, path: &FactPath) -> Option<Cow<'_, str>> {
        find_text(self, path)
    }
}

impl NodeFacts {
    /// A node without facts, of which only the certname is known.
    pub fn without_facts(certname: Certname) -> Self {
        let trusted = serde_json::json!({"certname": certname.as_str()});
        Self {
            certname,
            fact: Value::Object(serde_json::Map::new()),
            trusted,
            requested_environment: None,
        }
    }
}
