//! Nodes, facts and reports: from a real PuppetDB, or from the agents of this server, behind one
//! handle.
//!
//! [`Inventory`] is that handle; a [`NodeQuery`] is PQL or PuppetDB's AST. A PuppetDB gets queries
//! unchanged; the embedded inventory answers a subset (`docs/inventory.md`). Invariants: the crate
//! depends on rows of the store and PuppetDB's HTTP API, but not on engines or agents; every
//! answer and every wait has a bound; an error names the responsible party
//! ([`QueryError::origin`]).

mod collector;
mod compact_facts;
pub mod defaults;
mod embedded;
mod error;
mod handle;
mod lang;
mod node;
mod puppetdb;
mod query;
mod query_permits;
mod report;

pub use collector::{
    CollectorConfig, ConnectedNode, FactCollector, FactRequester, NodeConnectionChange,
};
pub use compact_facts::{CompactNodeRecord, FactValue};
pub use embedded::{InventoryNode, InventorySnapshot};
pub use error::{QueryError, QueryErrorOrigin, RecordError, UnsupportedQuery};
pub use handle::{Inventory, InventoryHealth};
pub use node::{KnownFacts, NodeRecord, trusted_facts};
pub use puppetdb::{ConfError, PuppetDbCommand, PuppetDbConfig};
pub use query::{InvalidQueryType, NodeQuery, QueryPaging};
pub use report::{PuppetReport, ReportMetric};
