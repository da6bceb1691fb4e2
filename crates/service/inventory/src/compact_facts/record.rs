//! A node's facts in memory: [`CompactNodeRecord`], a compact [`NodeRecord`].

use std::sync::Arc;

use jiff::Timestamp;

use super::{FactValue, ValuePool};
use crate::NodeRecord;

/// The facts of a node: a [`NodeRecord`] in a fifth of the memory (`docs/benchmarks.md`).
#[derive(Clone, Debug, PartialEq)]
pub struct CompactNodeRecord {
    facts: FactValue,
    trusted: FactValue,
    environment: Option<Arc<str>>,
    /// Time at which the facts were collected.
    pub timestamp: Timestamp,
}

impl CompactNodeRecord {
    pub(crate) fn new(pool: &mut ValuePool, record: &NodeRecord) -> Self {
        Self {
            facts: pool.share_object(&record.facts),
            trusted: pool.share_object(&record.trusted),
            environment: record
                .environment
                .as_deref()
                .map(|name| pool.share_text(name)),
            timestamp: record.timestamp,
        }
    }

    /// JSON object of facts by name.
    pub fn facts(&self) -> &FactValue {
        &self.facts
    }

    /// JSON object of the data from the node's certificate.
    pub fn trusted(&self) -> &FactValue {
        &self.trusted
    }

    /// The environment that the node requested; `None` if unknown.
    pub fn environment(&self) -> Option<&str> {
        self.environment.as_deref()
    }

    /// A full copy that does not share memory with the pool.
    pub fn to_record(&self) -> NodeRecord {
        NodeRecord {
            facts: Arc::new(self.facts.to_map()),
            trusted: Arc::new(self.trusted.to_map()),
            environment: self.environment.as_deref().map(str::to_owned),
            timestamp: self.timestamp,
        }
    }
}
