//! Facts and trusted facts of a node: [`NodeRecord`], [`KnownFacts`].

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use pcp::Certname;
use serde_json::{Map, Value, json};

use crate::CompactNodeRecord;

/// The facts of a node, with the data from its certificate.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeRecord {
    /// Structured facts, as Facter names them.
    pub facts: Arc<Map<String, Value>>,
    /// Data from the node's certificate: `certname`, `extensions`, …
    pub trusted: Arc<Map<String, Value>>,
    /// The environment that the node requested; `None` if unknown.
    pub environment: Option<String>,
    /// Time at which the facts were collected.
    pub timestamp: Timestamp,
}

/// Facts of a node as the back end of the inventory has them.
#[derive(Clone, Debug)]
pub enum KnownFacts {
    Embedded(Arc<CompactNodeRecord>),
    OfPuppetDb(NodeRecord),
}

impl KnownFacts {
    /// The facts as JSON; those of the embedded inventory are copied.
    #[must_use]
    pub fn into_record(self) -> NodeRecord {
        match self {
            Self::Embedded(compact) => compact.to_record(),
            Self::OfPuppetDb(record) => record,
        }
    }
}

/// Trusted facts of a node whose certificate has this name and these extensions.
#[must_use]
pub fn trusted_facts(
    certname: &Certname,
    extensions: BTreeMap<String, String>,
) -> Map<String, Value> {
    let name = certname.as_str();
    let (hostname, domain) = match name.split_once('.') {
        Some((hostname, domain)) => (hostname, Some(domain)),
        None => (name, None),
    };
    [
        ("authenticated", json!("remote")),
        ("certname", json!(name)),
        ("hostname", json!(hostname)),
        ("domain", json!(domain)),
        ("extensions", json!(extensions)),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}
