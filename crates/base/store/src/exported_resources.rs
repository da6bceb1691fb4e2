//! Resources that nodes export for the catalogs of other nodes: [`ExportedTypeRow`].
//!
//! Invariants: the resources of a node are replaced together, and deleted with the node; secrets among
//! their values are sealed.

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
const NODE: &str = exporting_nodes!("WHERE certname = $1");
const OF_TYPE: &str =
    exported_types!("WHERE resource_type = $1 AND certname > $2 ORDER BY certname LIMIT $3");

pub(crate) const STATEMENTS: &[&str] =
    &[PUT_NODE, PUT_TYPE, DELETE_TYPES, DELETE_NODE, NODE, OF_TYPE];

/// Deletes the exported resources of a node.
pub(crate) fn delete_statements(certname: &str) -> [SqlStatement<'_>; 2] {
    [DELETE_TYPES, DELETE_NODE].map(|sql| SqlStatement::new(sql, values![certname]))
}

// === impl Store ===

impl Store {
    /// Replaces the exported resources of a node. Without `types` the node exports nothing, and no row
    /// of it remains.
    pub async fn put_exported_resources(
        &self,
        node: &ExportingNodeRow,
        types: &[ExportedTypeRow],
    ) -> Result<(), StoreError> {
        let mut steps: Vec<SqlStatement<'_>> = delete_statements(&node.certname).into();
        if !types.is_empty() {
            steps.push(SqlStatement::new(PUT_NODE, values![node]));
            let types = types.iter();
            steps.extend(types.map(|row| SqlStatement::new(PUT_TYPE, values![row])));
        }
        self.execute_all(steps).await.map(drop)
    }

    /// The node if it exports resources.
    pub async fn exporting_node(
        &self,
        certname: &str,
    ) -> Result<Option<ExportingNodeRow>, StoreError> {
        self.query_one(NODE, values![certname]).await
    }

    /// The resources of a type, of at most `limit` nodes after `after` (`""`: from the first one), by
    /// certname.
    pub async fn exported_resources(
        &self,
        resource_type: &str,
        after: &str,
        limit: u64,
    ) -> Result<Vec<ExportedTypeRow>, StoreError> {
        self.query(OF_TYPE, values![resource_type, after, limit])
            .await
    }
}
