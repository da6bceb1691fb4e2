//! What is known of a node when it is classified. Main types: [`NodeFacts`], [`Subject`],
//! [`FactSource`].

use std::borrow::Cow;

use async_trait::async_trait;
use pcp::Certname;
use serde_json::Value;

use crate::rule::{Path, found};

/// A node, as rules ask about it: whoever holds many nodes need not copy their facts.
pub trait Subject {
    /// Its name.
    fn certname(&self) -> &Certname;

    /// The environment that its agent asked for.
    fn requested_environment(&self) -> Option<&str>;

    /// The text of a string, boolean or number at the path; anything else has none.
    fn text(&self, path: &Path) -> Option<Cow<'_, str>>;
}

impl<S: Subject + ?Sized> Subject for &S {
    fn certname(&self) -> &Certname {
        (**self).certname()
    }

    fn requested_environment(&self) -> Option<&str> {
        (**self).requested_environment()
    }

    fn text(&self, path: &Path) -> Option<Cow<'_, str>> {
        (**self).text(path)
    }
}

/// A node, as rules see it.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeFacts {
    /// The path `name`.
    pub certname: Certname,
    /// An object of facts by name; anything else is a node without facts.
    pub fact: Value,
    /// An object of what the node's certificate says: `certname`, `extensions`, …
    pub trusted: Value,
    /// The environment that the agent asked for.
    pub requested_environment: Option<String>,
}

/// Where facts come from: PuppetDB or the embedded inventory.
#[async_trait]
pub trait FactSource: Send + Sync {
    /// What is known of a node; `None`: it never reported any facts.
    ///
    /// # Errors
    /// The source cannot be asked now. A node is never classified without its facts because of
    /// that: it would lose its groups.
    async fn facts(&self, certname: &Certname) -> Result<Option<NodeFacts>, FactSourceError>;
}

/// Why a source of facts does not answer.
#[derive(Debug, thiserror::Error)]
#[error("the facts of {certname} cannot be read")]
pub struct FactSourceError {
    /// Whose.
    pub certname: Certname,
    /// Why.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl Subject for NodeFacts {
    fn certname(&self) -> &Certname {
        &self.certname
    }

    fn requested_environment(&self) -> Option<&str> {
        self.requested_environment.as_deref()
    }

    fn text(&self, path: &Path) -> Option<Cow<'_, str>> {
        found(self, path)
    }
}

impl NodeFacts {
    /// A node of which only the name is known.
    pub fn named(certname: Certname) -> Self {
        let trusted = serde_json::json!({"certname": certname.as_str()});
        Self {
            certname,
            fact: Value::Object(serde_json::Map::new()),
            trusted,
            requested_environment: None,
        }
    }
}
