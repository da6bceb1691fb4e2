//! Exported resources from a real PuppetDB: [`PuppetdbExports`].
//!
//! Invariant: the resources are those of nodes that PuppetDB counts as active.

use compiler::{ExportSearch, ExportSearchError, ExportedResource, ExportedResources};
use inventory::{Inventory, NodeQuery};
use tokio::runtime::Handle;

use super::resource_query::resource_query;
use super::resource_row::exported_resource;
use crate::blocking_inventory::BlockingInventory;
use crate::defaults::EXPORTED_RESOURCES_MAX;

/// The exported resources in the catalogs that PuppetDB has.
#[derive(Debug, Clone)]
pub struct PuppetdbExports {
    inventory: BlockingInventory,
}

impl PuppetdbExports {
    /// The resources in the PuppetDB of `inventory`, whose requests run in `runtime`.
    #[must_use]
    pub fn new(inventory: Inventory, runtime: Handle) -> Self {
        Self {
            inventory: BlockingInventory::new(inventory, runtime),
        }
    }

    fn find(&self, search: &ExportSearch<'_>) -> Result<Vec<ExportedResource>, String> {
        let type_name = search.type_name;
        let query = resource_query(search.certname, type_name, search.query);
        let query = NodeQuery::from_ast(query);
        let rows = self.inventory.rows(query, search.interrupt)?;
        if rows.len() > EXPORTED_RESOURCES_MAX {
            return Err(format!(
                "{} resources of the type {type_name} are found; a collector takes at most \
                 {EXPORTED_RESOURCES_MAX}, so give it a narrower query",
                rows.len()
            ));
        }
        let resources = rows.iter().map(|row| exported_resource(row, type_name));
        let mut resources: Vec<_> = resources.collect::<Result<_, _>>()?;
        // PuppetDB answers in the order of its database, which changes
        resources.sort_by(|a, b| (&a.certname, &a.title).cmp(&(&b.certname, &b.title)));
        Ok(resources)
    }
}

impl ExportedResources for PuppetdbExports {
    fn search(
        &self,
        search: &ExportSearch<'_>,
    ) -> Result<Vec<ExportedResource>, ExportSearchError> {
        self.find(search).map_err(|cause| {
            let location = self.inventory.location();
            ExportSearchError(format!(
                "Could not retrieve resources from the PuppetDB at {location}: {cause}"
            ))
        })
    }
}
