//! What is known of a node: [`NodeRecord`].

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value};

/// What a node told about itself.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeRecord {
    /// Structured facts, as Facter names them.
    pub facts: Arc<Map<String, Value>>,
    /// What its certificate says: `certname`, `extensions`, …
    pub trusted: Arc<Map<String, Value>>,
    /// The environment that it asked for.
    pub environment: Option<String>,
    /// When the facts were collected.
    pub timestamp: Timestamp,
}
