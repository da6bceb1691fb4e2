//! Forwarding of data to PuppetDB: [`CommandQueue`] keeps commands in the database, and
//! [`CommandForwarder`] sends them.
//!
//! Invariants: a command leaves the queue when PuppetDB has taken or refused it, or when a bound of
//! the queue is reached; the commands of a node are sent in their order; a restart or a crash sends
//! a command at most once more, with the same bytes.

mod forwarder;
mod metrics;
mod queue;

pub(crate) use forwarder::CommandForwarder;
pub use metrics::ForwardingMetrics;
pub use queue::ForwardingState;
pub(crate) use queue::{
    CommandQueue, DEACTIVATE_NODE, REPLACE_CATALOG, REPLACE_FACTS, STORE_REPORT,
};

pub use crate::puppetdb_format::{ForwardedCapability, ForwardedCatalog};
