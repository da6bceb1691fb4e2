//! Node groups, which the classifier reads at its start and writes one edit at a time.
//!
//! Invariant: an edit names the serial number that it was based on, and writes nothing if the group
//! was edited since.

use crate::StoreError;
use crate::rows::row;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;

row! {
    /// A stored node group of the classifier.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct NodeGroupRow {
        /// UUID of the group.
        pub id: String,
        /// UUID of the parent; the root group is its own parent.
        pub parent: String,
        /// Name of the group, unique within the environment.
        pub name: String,
        /// Description shown to users.
        pub description: Option<String>,
        /// Name of the environment.
        pub environment: String,
        /// True if the environment takes precedence over those of other groups.
        pub environment_trumps: bool,
        /// Rule as JSON; `None`: the group matches no nodes.
        pub rule: Option<String>,
        /// Classes and parameters, as JSON.
        pub classes: String,
        /// Configuration data, as JSON.
        pub config_data: String,
        /// Variables of the group, as JSON.
        pub variables: String,
        /// Time of the last edit in milliseconds since 1970.
        pub last_edited_ms: i64,
        /// Number that grows with each edit.
        pub serial_number: i64,
    } read write columns columns select groups from "node_groups"
}

const ALL: &str = groups!("ORDER BY id");
const INSERT: &str = concat!(
    "INSERT INTO node_groups (",
    columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
);
const UPDATE: &str = "UPDATE node_groups SET parent = $2, name = $3, description = $4, \
     environment = $5, environment_trumps = $6, rule = $7, classes = $8, config_data = $9, \
     variables = $10, last_edited_ms = $11, serial_number = $12 \
     WHERE id = $1 AND serial_number = $13";
const DELETE: &str = "DELETE FROM node_groups WHERE id = $1 AND serial_number = $2 \
     AND NOT EXISTS (SELECT 1 FROM node_groups child WHERE child.parent = $1)";
const DELETE_ALL: &str = "DELETE FROM node_groups";

pub(crate) const STATEMENTS: &[&str] = &[ALL, INSERT, UPDATE, DELETE, DELETE_ALL];

// === impl Store ===

impl Store {
    /// All stored node groups.
    pub async fn node_groups(&self) -> Result<Vec<NodeGroupRow>, StoreError> {
        self.query(ALL, Vec::new()).await
    }

    /// Writes a new group. Refused if the id, or the name within the environment, is taken.
    pub async fn insert_node_group(&self, row: NodeGroupRow) -> Result<(), StoreError> {
        self.execute(INSERT, values![row]).await.map(drop)
    }

    /// Replaces the groups that still have the given serial numbers, in one transaction. Returns
    /// for each if it was written; `false`: it was deleted or has another serial number.
    pub async fn update_node_groups(
        &self,
        rows: Vec<(NodeGroupRow, i64)>,
    ) -> Result<Vec<bool>, StoreError> {
        let written =
            self.execute_all(rows.iter().map(|(row, serial_number)| {
                SqlStatement::new(UPDATE, values![row, serial_number])
            }))
            .await?;
        Ok(written.into_iter().map(|rows| rows > 0).collect())
    }

    /// Deletes a group. `false`: it does not exist, has another serial number, or has children.
    pub async fn delete_node_group(
        &self,
        id: &str,
        serial_number: i64,
    ) -> Result<bool, StoreError> {
        Ok(self.execute(DELETE, values![id, serial_number]).await? > 0)
    }

    /// Replaces all groups by these, in one transaction.
    pub async fn replace_node_groups(&self, rows: Vec<NodeGroupRow>) -> Result<(), StoreError> {
        let clear = SqlStatement::new(DELETE_ALL, Vec::new());
        let inserts = rows
            .iter()
            .map(|row| SqlStatement::new(INSERT, values![row]));
        let steps = std::iter::once(clear).chain(inserts);
        self.execute_all(steps).await.map(drop)
    }
}
