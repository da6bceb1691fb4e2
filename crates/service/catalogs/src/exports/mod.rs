//! Exported resources and rows of PuppetDB for compilations: [`PuppetdbExports`],
//! [`InventoryQueries`].
//!
//! Invariant: a search is bounded in time, bytes and resources, and its error names the server and the
//! cause.

mod blocking_inventory;
mod inventory_queries;
mod puppetdb;
mod resource_query;
mod resource_row;

pub use inventory_queries::InventoryQueries;
pub use puppetdb::PuppetdbExports;
