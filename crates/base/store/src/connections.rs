//! Connections to nodes without an agent: sealed data, and the nodes that each is for.
//!
//! Invariant: a node has at most one connection, and a connection without nodes is deleted.

use partial_debug::partial_debug;

use crate::StoreError;
use crate::rows::row;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;

row! {
    /// A connection to nodes without an agent.
    #[derive(Clone, PartialEq, Eq)]
    pub struct ConnectionRow {
        /// UUID of the connection.
        pub id: String,
        /// The connection's settings, sealed.
        pub sealed: Vec<u8>,
    } read write columns columns select connections from "connections"
}

const ALL: &str = connections!("ORDER BY id");
const NODES: &str = "SELECT certname, connection_id FROM connection_nodes ORDER BY certname";
const INSERT: &str = concat!("INSERT INTO connections (", columns!(), ") VALUES ($1, $2)");
const PUT_NODE: &str = "INSERT INTO connection_nodes (certname, connection_id) VALUES ($1, $2) \
     ON CONFLICT (certname) DO UPDATE SET connection_id = excluded.connection_id";
const DELETE_NODE: &str = "DELETE FROM connection_nodes WHERE certname = $1";
const DELETE_UNUSED: &str = "DELETE FROM connections WHERE NOT EXISTS \
     (SELECT 1 FROM connection_nodes node WHERE node.connection_id = connections.id)";

pub(crate) const STATEMENTS: &[&str] = &[ALL, NODES, INSERT, PUT_NODE, DELETE_NODE, DELETE_UNUSED];

// === impl Store ===

impl Store {
    /// All connections, without their nodes.
    pub async fn connections(&self) -> Result<Vec<ConnectionRow>, StoreError> {
        self.query(ALL, Vec::new()).await
    }

    /// Certnames of all nodes, each with the id of its connection.
    pub async fn connection_nodes(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.query(NODES, Vec::new()).await
    }

    /// Writes a connection for these nodes, which replaces their former ones.
    pub async fn insert_connection(
        &self,
        row: ConnectionRow,
        certnames: Vec<String>,
    ) -> Result<(), StoreError> {
        let insert = SqlStatement::new(INSERT, values![row.id, row.sealed]);
        let nodes = certnames
            .iter()
            .map(|certname| SqlStatement::new(PUT_NODE, values![certname, row.id]));
        let steps = std::iter::once(insert)
            .chain(nodes)
            .chain([delete_unused_statement()]);
        self.execute_all(steps).await.map(drop)
    }

    /// Deletes the connections of these nodes.
    pub async fn delete_connections(&self, certnames: Vec<String>) -> Result<(), StoreError> {
        let nodes = certnames
            .iter()
            .map(|certname| SqlStatement::new(DELETE_NODE, values![certname]));
        let steps = nodes.chain([delete_unused_statement()]);
        self.execute_all(steps).await.map(drop)
    }
}

fn delete_unused_statement() -> SqlStatement<'static> {
    SqlStatement::new(DELETE_UNUSED, Vec::new())
}

// Omits the sealed bytes.
partial_debug!(ConnectionRow { id });
