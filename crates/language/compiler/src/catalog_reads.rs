//! What a compilation depends on besides its environment and request: [`CatalogReads`].
//!
//! Invariant: a catalog without a [`VolatileCause`] is the same for the same environment and request, as
//! long as the facts that it read have the same values, and its queries the same results.

use evaluator::FactReads;

use crate::DataQueryResult;

/// What a compilation read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogReads {
    pub facts: FactReads,
    /// Keys of Hiera's data for which lookups have found values, in alphabetical order. They belong to the
    /// environment or to files outside of it.
    pub hiera_keys: Vec<String>,
    /// Queries of the data of other nodes, each once. Capabilities of other nodes are among them, although a catalog with
    /// capabilities is [volatile](VolatileCause::Capabilities).
    pub queries: Vec<DataQueryResult>,
    /// Reason that another compilation may give another catalog although nothing changed; `None` if there
    /// is none.
    pub volatile: Option<VolatileCause>,
}

/// A source of data that changes without notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum VolatileCause {
    /// Capabilities of applications were produced, or read from other nodes.
    Capabilities,
    /// The time of day was read.
    Clock,
    /// Exported resources of other nodes were collected, and this cannot be repeated.
    Exports,
    /// PuppetDB was queried, and this cannot be repeated.
    PuppetdbQuery,
    /// Code in Ruby ran, which may read anything.
    Ruby,
}

impl VolatileCause {
    /// The cause in a sentence that begins with "it".
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Capabilities => "it produces or consumes capabilities of applications",
            Self::Clock => "it reads the time",
            Self::Exports => "it collects exported resources in a way that cannot be compared",
            Self::PuppetdbQuery => "it queries PuppetDB in a way that cannot be compared",
            Self::Ruby => "it runs code in Ruby",
        }
    }
}
