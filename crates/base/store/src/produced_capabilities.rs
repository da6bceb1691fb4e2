//! Capabilities that nodes produce for the applications of an environment: [`ProducedCapabilityRow`].
//!
//! Invariants: the capabilities of a node are replaced together, and deleted with the node; their values are
//! sealed, since any of them may be a secret.

use crate::StoreError;
use crate::rows::row;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;

row! {
    /// A capability that a node produces.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ProducedCapabilityRow {
        /// Environment of the catalog that produces the capability.
        pub environment: String,
        /// Type of the capability, such as `Sql` or `Foo::Bar`.
        pub capability_type: String,
        /// Title of the capability.
        pub title: String,
        /// Certname of the producing node.
        pub certname: String,
        /// Code id of the catalog; `None` if the code has no versions.
        pub code_id: Option<String>,
        /// Attributes and their values, sealed.
        pub attributes: Vec<u8>,
        /// Milliseconds since 1970 at which the catalog was compiled; `None` if it is of an older release.
        pub produced_ms: Option<i64>,
    } read write columns capability_columns select produced_capabilities from "produced_capabilities"
}

row! {
    /// A capability of a node without its values.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CapabilityOfNodeRow {
        /// Type of the capability, such as `Sql` or `Foo::Bar`.
        pub capability_type: String,
        /// Title of the capability.
        pub title: String,
        /// Milliseconds since 1970 at which the catalog was compiled; `None` if it is of an older release.
        pub produced_ms: Option<i64>,
    } read select capabilities_of_node from "produced_capabilities"
}

const PUT: &str = concat!(
    "INSERT INTO produced_capabilities (",
    capability_columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7)"
);
const DELETE_OF_NODE: &str = "DELETE FROM produced_capabilities WHERE certname = $1";
const FIND: &str = produced_capabilities!(
    "WHERE environment = $1 AND capability_type = $2 AND title = $3 \
     ORDER BY CASE WHEN code_id = $4 THEN 0 ELSE 1 END, certname LIMIT $5"
);

const OF_NODE: &str = capabilities_of_node!("WHERE certname = $1 AND environment = $2");

const PRODUCERS: &str = "SELECT DISTINCT certname FROM produced_capabilities";

const DELETE_OF_UNKNOWN: &str = "DELETE FROM produced_capabilities WHERE certname = $1 \
     AND NOT EXISTS (SELECT 1 FROM inventory_nodes WHERE certname = $1)";

pub(crate) const STATEMENTS: &[&str] = &[
    PUT,
    DELETE_OF_NODE,
    FIND,
    OF_NODE,
    PRODUCERS,
    DELETE_OF_UNKNOWN,
];

/// Deletes the capabilities of a node.
pub(crate) fn delete_statement(certname: &str) -> SqlStatement<'_> {
    SqlStatement::new(DELETE_OF_NODE, values![certname])
}

// === impl Store ===

impl Store {
    /// Replaces the capabilities of a node with `rows`, which are all of that node. `false`: only nodes of the
    /// inventory's table may have some, it does not know the node, and no row of it remains.
    pub async fn put_produced_capabilities(
        &self,
        certname: &str,
        rows: &[ProducedCapabilityRow],
        known_nodes_only: bool,
    ) -> Result<bool, StoreError> {
        let mut steps = vec![delete_statement(certname)];
        let puts = rows.iter();
        steps.extend(puts.map(|row| SqlStatement::new(PUT, values![row])));
        if known_nodes_only && !rows.is_empty() {
            // Last, and in the same transaction: the node may have been deleted since it was compiled.
            steps.push(SqlStatement::new(DELETE_OF_UNKNOWN, values![certname]));
            return Ok(!self.execute_to_last(steps).await?);
        }
        self.execute_all(steps).await?;
        Ok(true)
    }

    /// Certnames of the nodes that produce capabilities: at most all nodes.
    pub async fn capability_producers(&self) -> Result<Vec<String>, StoreError> {
        self.query(PRODUCERS, Vec::new()).await
    }

    /// The capabilities that a node produces in an environment.
    pub async fn capabilities_of_node(
        &self,
        certname: &str,
        environment: &str,
    ) -> Result<Vec<CapabilityOfNodeRow>, StoreError> {
        self.query(OF_NODE, values![certname, environment]).await
    }

    /// The capabilities of a type with a title, at most `limit`: those of the version `code_id` first, then by
    /// their producers.
    pub async fn produced_capabilities(
        &self,
        environment: &str,
        capability_type: &str,
        title: &str,
        code_id: Option<&str>,
        limit: u64,
    ) -> Result<Vec<ProducedCapabilityRow>, StoreError> {
        let values = values![environment, capability_type, title, code_id, limit];
        self.query(FIND, values).await
    }
}
