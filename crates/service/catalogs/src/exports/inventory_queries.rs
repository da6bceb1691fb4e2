//! Answers to `puppetdb_query`: [`InventoryQueries`].

use std::sync::Arc;

use compiler::{CompileInterrupt, PuppetdbQueries, PuppetdbQueryError};
use inventory::{Inventory, NodeQuery};
use serde_json::Value as Json;
use tokio::runtime::Handle;

use crate::blocking_inventory::BlockingInventory;

/// Answers of an inventory: a PuppetDB, or the embedded one, which answers a part of PQL.
#[derive(Debug, Clone)]
pub struct InventoryQueries {
    inventory: BlockingInventory,
}

impl InventoryQueries {
    /// Answers of `inventory`, whose requests run in `runtime`.
    #[must_use]
    pub fn new(inventory: Inventory, runtime: Handle) -> Self {
        Self {
            inventory: BlockingInventory::new(inventory, runtime),
        }
    }
}

impl PuppetdbQueries for InventoryQueries {
    fn rows(
        &self,
        query: &Json,
        interrupt: Option<&Arc<CompileInterrupt>>,
    ) -> Result<Vec<Json>, PuppetdbQueryError> {
        let failure = |cause: String| {
            let location = self.inventory.location();
            PuppetdbQueryError(format!("Could not query PuppetDB at {location}: {cause}"))
        };
        let query = NodeQuery::from_json(query.clone());
        let query = query.map_err(|error| failure(error.to_string()))?;
        self.inventory.rows(query, interrupt).map_err(failure)
    }
}
