//! Nodes, facts and reports: a real PuppetDB, or what agents told this server, behind one handle.
//!
//! [`Inventory`] is that handle; a [`Query`] is PQL or PuppetDB's AST. A PuppetDB gets queries as
//! they are; the embedded inventory answers a subset (`docs/inventory.md`). The rules: the crate
//! knows rows of the store and PuppetDB's HTTP, no engine and no agent; every answer and every
//! wait has a bound; an error says whose fault it is ([`QueryError::fault`]).

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
