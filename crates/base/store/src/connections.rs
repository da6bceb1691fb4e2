//! Connections to nodes without an agent: sealed data, and the nodes that each is for.
//!
//! Invariant: a node has at most one connection, and a connection without nodes is deleted.

use crate::StoreError;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::{ColumnError, FromRow, RowColumns, SqlValue};

/// A connection to nodes without an agent.
#[derive(Clone, PartialEq, Eq)]
pub struct ConnectionRow {
    /// UUID of the connection.
    pub id: String,
    /// The connection's settings, sealed.
    pub sealed: Vec<u8>,
}

const ALL: &str = "SELECT id, sealed FROM connections ORDER BY id";
const NODES: &str = "SELECT certname, connection_id FROM connection_nodes ORDER BY certname";
const INSERT: &str = "INSERT INTO connections (id, sealed) VALUES ($1, $2)";
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
        let insert = SqlStatement {
            sql: INSERT,
            values: vec![
                SqlValue::owned_text(&row.id),
                SqlValue::Blob(row.sealed.into()),
            ],
        };
        let nodes = certnames.iter().map(|certname| SqlStatement {
            sql: PUT_NODE,
            values: vec![
                SqlValue::owned_text(certname),
                SqlValue::owned_text(&row.id),
            ],
        });
        let steps = std::iter::once(insert)
            .chain(nodes)
            .chain([delete_unused_statement()]);
        self.execute_all(steps.collect()).await.map(|_| ())
    }

    /// Deletes the connections of these nodes.
    pub async fn delete_connections(&self, certnames: Vec<String>) -> Result<(), StoreError> {
        let nodes = certnames.iter().map(|certname| SqlStatement {
            sql: DELETE_NODE,
            values: vec![SqlValue::owned_text(certname)],
        });
        let steps = nodes.chain([delete_unused_statement()]);
        self.execute_all(steps.collect()).await.map(|_| ())
    }
}

fn delete_unused_statement() -> SqlStatement<'static> {
    SqlStatement {
        sql: DELETE_UNUSED,
        values: Vec::new(),
    }
}

impl FromRow for ConnectionRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self {
            id: row.text(0)?,
            sealed: row.blob(1)?,
        })
    }
}

/// Omits the sealed bytes.
impl std::fmt::Debug for ConnectionRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectionRow")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
