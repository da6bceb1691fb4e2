//! Facts and trusted facts of a node: [`NodeRecord`].

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value};

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
