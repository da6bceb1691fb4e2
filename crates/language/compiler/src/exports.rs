//! Exported resources of other nodes: [`ExportedResources`].
//!
//! Invariant: a resource of another node never replaces one of this node.

use std::sync::Arc;

use evaluator::CollectorQuery;
use pcore::{Hash, Value};

use crate::interrupt::CompileInterrupt;

/// Source of the resources that other nodes export, such as PuppetDB.
pub trait ExportedResources: Send + Sync {
    /// The exported resources that a search finds.
    fn search(&self, search: &ExportSearch<'_>)
    -> Result<Vec<ExportedResource>, ExportSearchError>;
}

/// A search for the exported resources of other nodes.
#[derive(Debug, Clone, Copy)]
pub struct ExportSearch<'s> {
    /// The node that collects; its own resources are not found.
    pub certname: &'s str,
    /// Type of the resources: `File`, `Foo::Bar`.
    pub type_name: &'s str,
    /// Condition of the resources; `None` for all of the type.
    pub query: Option<&'s CollectorQuery>,
    /// Ends the search early; `None` if only its own limits end it.
    pub interrupt: Option<&'s Arc<CompileInterrupt>>,
}

/// A resource that another node exports.
#[derive(Debug, Clone)]
pub struct ExportedResource {
    /// Certname of the node that exports it.
    pub certname: String,
    pub title: String,
    pub parameters: Hash,
    /// Tags for queries; the resource gets the tags of its collector.
    pub tags: Vec<String>,
}

/// Error of a search; it names the server and the cause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ExportSearchError(pub String);

impl ExportedResource {
    /// True if a query of a collector accepts the resource. Values are compared as PuppetDB compares
    /// them: exactly, and a list as a whole.
    #[must_use]
    pub fn is_accepted_by(&self, query: &CollectorQuery) -> bool {
        match query {
            CollectorQuery::And(queries) => queries.iter().all(|it| self.is_accepted_by(it)),
            CollectorQuery::Or(queries) => queries.iter().any(|it| self.is_accepted_by(it)),
            CollectorQuery::Compare {
                is_equal,
                attribute,
                value,
            } => self.has(attribute, value) == *is_equal,
        }
    }

    fn has(&self, attribute: &str, value: &Value) -> bool {
        match attribute {
            "tag" => {
                let wanted = value.to_string().to_lowercase();
                self.tags.contains(&wanted)
            }
            "title" => value.as_str() == Some(self.title.as_str()),
            name => match self.parameters.get_str(name) {
                Some(actual) => actual == value,
                None => value.is_undef(),
            },
        }
    }
}
