//! Exported resources for compilations, from PuppetDB ([`PuppetdbExports`]) or from the database of this
//! server ([`EmbeddedExports`]), and rows of the inventory ([`InventoryQueries`]).
//!
//! Invariant: a search is bounded in time, bytes and resources, and its error names the server and the
//! cause.

mod embedded;
mod inventory_queries;
mod keep_order;
mod puppetdb;
mod resource_query;
mod resource_row;
mod stored_exports;

pub use embedded::{EmbeddedExports, KeepExportsError, KeptExports};
pub use inventory_queries::InventoryQueries;
pub(crate) use keep_order::KeepOrder;
pub use keep_order::KeepTurn;
pub use puppetdb::PuppetdbExports;
