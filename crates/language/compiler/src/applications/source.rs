//! Capabilities that other nodes produced: [`ProducedCapabilities`].
//!
//! Invariant: the values keep their types, so a sensitive value stays sensitive from producer to
//! consumer.

use std::sync::Arc;

use partial_debug::partial_debug;
use pcore::Hash;

use crate::interrupt::CompileInterrupt;

/// Source of the capabilities that the nodes of an environment produced.
pub trait ProducedCapabilities: Send + Sync {
    /// The capabilities that a search finds: at most one for each node.
    fn find(
        &self,
        search: &CapabilitySearch<'_>,
    ) -> Result<Vec<StoredCapability>, CapabilitySearchError>;
}

/// A search for a capability by its type and title.
#[derive(Debug, Clone, Copy)]
pub struct CapabilitySearch<'s> {
    pub environment: &'s str,
    /// Type of the capability: `Sql`, `Foo::Bar`.
    pub type_name: &'s str,
    pub title: &'s str,
    /// Ends the search early; `None` if only its own limits end it.
    pub interrupt: Option<&'s Arc<CompileInterrupt>>,
}

/// A capability that a node produced.
#[derive(Clone)]
pub struct StoredCapability {
    /// Certname of the producing node.
    pub certname: String,
    /// Code version from which the producing catalog was compiled.
    pub code_id: Option<String>,
    pub attributes: Hash,
}

/// A capability that a compiled catalog produces.
#[derive(Clone)]
pub struct ProducedCapability {
    /// Type of the capability: `Sql`, `Foo::Bar`.
    pub type_name: Arc<str>,
    pub title: Arc<str>,
    pub attributes: Hash,
}

// Leaves out the values, which may be secret.
partial_debug!(StoredCapability { certname, code_id });

// Leaves out the values, which may be secret.
partial_debug!(ProducedCapability { type_name, title });

/// Error of a search; it names the store and the cause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CapabilitySearchError(pub String);
