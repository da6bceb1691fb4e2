//! Resources that nodes export for the catalogs of other nodes: [`ExportedTypeRow`].
//!
//! Invariants: the resources of a node are replaced together, and deleted with the node; no other node than
//! those of the inventory has some; secrets among their values are sealed.

use crate::StoreError;
use crate::rows::row;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;

row! {
    /// A node that exports resources.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ExportingNodeRow {
        /// Certname of the node.
        pub certname: String,
        /// Environment of the catalog that exports the resources.
        pub environment: String,
        /// Code id of that catalog; `None` if the code has no versions.
        pub code_id: Option<String>,
        /// Digest of the resources; `None` if some of their values are secrets.
        pub digest: Option<String>,
    } read write columns node_columns select exporting_nodes from "exporting_nodes"
}

row! {
    /// The exported resources of one type of a node.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ExportedTypeRow {
        /// Certname of the node.
        pub certname: String,
        /// Type of the resources, such as `File` or `Foo::Bar`.
        pub resource_type: String,
        /// The resources, as a JSON list.
        pub resources: String,
        /// The secrets among their values, sealed; `None` if there are none.
        pub sealed: Option<Vec<u8>>,
    } read write columns type_columns select exported_types from "exported_resources"
}

const PUT_NODE: &str = concat!(
    "INSERT INTO exporting_nodes (",
    node_columns!(),
    ") VALUES ($1, $2, $3, $4)"
);
const PUT_TYPE: &str = concat!(
    "INSERT INTO exported_resources (",
    type_columns!(),
    ") VALUES ($1, $2, $3, $4)"
);
const DELETE_TYPES: &str = "DELETE FROM exported_resources WHERE certname = $1";
const DELETE_NODE: &str = "DELETE FROM exporting_nodes WHERE certname = $1";
const DELETE_TYPES_OF_UNKNOWN: &str = "DELETE FROM exported_resources WHERE certname = $1 \
     AND NOT EXISTS (SELECT 1 FROM inventory_nodes WHERE certname = $1)";
const DELETE_UNKNOWN: &str = "DELETE FROM exporting_nodes WHERE certname = $1 \
     AND NOT EXISTS (SELECT 1 FROM inventory_nodes WHERE certname = $1)";
const NODE: &str = exporting_nodes!("WHERE certname = $1");
const SIZES: &str = "SELECT certname, CAST(octet_length(resources) + \
     COALESCE(octet_length(sealed), 0) AS BIGINT) FROM exported_resources \
     WHERE resource_type = $1 AND certname > $2 ORDER BY certname LIMIT $3";
const OF_TYPE: &str = exported_types!(
    "WHERE resource_type = $1 AND certname > $2 AND certname <= $3 ORDER BY certname LIMIT $4"
);

pub(crate) const STATEMENTS: &[&str] = &[
    PUT_NODE,
    PUT_TYPE,
    DELETE_TYPES,
    DELETE_NODE,
    DELETE_TYPES_OF_UNKNOWN,
    DELETE_UNKNOWN,
    NODE,
    SIZES,
    OF_TYPE,
];

/// Bounds of a page. A page has one node at least.
#[derive(Clone, Copy, Debug)]
pub struct ExportedPageBounds {
    /// Number of nodes whose rows are read.
    pub nodes: u64,
    /// Bytes of the resources and of the sealed values.
    pub bytes: u64,
}

/// The resources of one type, of some nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportedPage {
    /// Rows of the nodes, ordered by certname.
    pub rows: Vec<ExportedTypeRow>,
    /// Certname of the last node; `None` if there is no node after those of the page before.
    pub last: Option<String>,
}

/// Deletes the exported resources of a node.
pub(crate) fn delete_statements(certname: &str) -> [SqlStatement<'_>; 2] {
    [DELETE_TYPES, DELETE_NODE].map(|sql| SqlStatement::new(sql, values![certname]))
}

// === impl Store ===

impl Store {
    /// Replaces the exported resources of a node. Without `types` the node exports nothing, and no row
    /// of it remains. `false`: the inventory does not know the node, and no row of it remains either.
    pub async fn put_exported_resources(
        &self,
        node: &ExportingNodeRow,
        types: &[ExportedTypeRow],
    ) -> Result<bool, StoreError> {
        let mut steps: Vec<SqlStatement<'_>> = delete_statements(&node.certname).into();
        if !types.is_empty() {
            steps.push(SqlStatement::new(PUT_NODE, values![node]));
            let types = types.iter();
            steps.extend(types.map(|row| SqlStatement::new(PUT_TYPE, values![row])));
            // Last, and in the same transaction: the node may have been deleted since it was compiled.
            let unknown = [DELETE_TYPES_OF_UNKNOWN, DELETE_UNKNOWN];
            steps.extend(unknown.map(|sql| SqlStatement::new(sql, values![node.certname])));
            return Ok(!self.execute_to_last(steps).await?);
        }
        self.execute_all(steps).await?;
        Ok(true)
    }

    /// The node if it exports resources.
    pub async fn exporting_node(
        &self,
        certname: &str,
    ) -> Result<Option<ExportingNodeRow>, StoreError> {
        self.query_one(NODE, values![certname]).await
    }

    /// The resources of a type, of nodes after `after` (`""`: from the first one).
    pub async fn exported_resources(
        &self,
        resource_type: &str,
        after: &str,
        bounds: ExportedPageBounds,
    ) -> Result<ExportedPage, StoreError> {
        // The sizes come first: the rows of a page could be more than fits into memory.
        let sizes = values![resource_type, after, bounds.nodes];
        let sizes: Vec<(String, i64)> = self.query(SIZES, sizes).await?;
        let Some(last) = last_within(sizes, bounds.bytes) else {
            return Ok(ExportedPage::default());
        };
        let rows = values![resource_type, after, last, bounds.nodes];
        let rows = self.query(OF_TYPE, rows).await?;
        Ok(ExportedPage {
            rows,
            last: Some(last),
        })
    }
}

/// The last of the nodes that have together no more than `bytes`, or else the first one.
fn last_within(sizes: Vec<(String, i64)>, bytes: u64) -> Option<String> {
    let mut total = 0_u64;
    let mut last = None;
    for (certname, size) in sizes {
        total = total.saturating_add(u64::try_from(size).unwrap_or(0));
        if last.is_some() && total > bytes {
            break;
        }
        last = Some(certname);
    }
    last
}
