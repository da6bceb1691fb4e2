//! Payloads of PuppetDB's commands: [`facts_payload`], [`catalog_payload`], [`report_payload`].
//!
//! Invariants: a payload has the types that PuppetDB demands, whatever a node sent, since PuppetDB
//! takes a command before it reads it, and then drops it; no payload has a value that is marked as
//! sensitive.

mod catalog;
mod edges;
mod facts;
mod report;
mod values;

use jiff::Timestamp;

pub(crate) use catalog::catalog_payload;
pub use catalog::{ForwardedCapability, ForwardedCatalog};
pub(crate) use facts::facts_payload;
pub(crate) use report::report_payload;

/// Time and server that a payload names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PayloadProducer<'a> {
    /// Certname of this server.
    pub(crate) certname: &'a str,
    /// Time at which the command was made.
    pub(crate) at: Timestamp,
}

/// A time in PuppetDB's format.
pub(crate) fn to_wire_time(time: Timestamp) -> String {
    format!("{time:.3}")
}
