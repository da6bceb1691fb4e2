//! Nodes, facts and reports: from a real PuppetDB, or from the agents of this server, behind one
//! handle.
//!
//! [`Inventory`] is that handle; a [`Query`] is PQL or PuppetDB's AST. A PuppetDB gets queries
//! unchanged; the embedded inventory answers a subset (`docs/inventory.md`). Invariants: the crate
//! depends on rows of the store and PuppetDB's HTTP API, but not on engines or agents; every
//! answer and every wait has a bound; an error names the responsible party
//! ([`QueryError::fault`]).

mod collector;
pub mod defaults;
mod embedded;
mod error;
mod handle;
mod held;
mod lang;
mod node;
mod places;
mod puppetdb;
mod query;
mod report;

pub use collector::{AskNode, Collector, CollectorConfig, ConnectedNode, FleetNews};
pub use embedded::{Node, Snapshot};
pub use error::{Fault, Invalid, QueryError, RecordError};
pub use handle::{Health, Inventory};
pub use held::{FactValue, HeldRecord};
pub use node::NodeRecord;
pub use puppetdb::{ConfError, PuppetDbConfig};
pub use query::{NotAQuery, Paging, Query};
pub use report::{Metric, Report};
