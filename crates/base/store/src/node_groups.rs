//! Node groups, which the classifier reads at its start and writes one edit at a time.
//!
//! Invariant: an edit names the serial number that it was based on, and writes nothing if the group
//! was edited since.

use crate::StoreError;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::{ColumnError, FromRow, RowColumns, SqlValue};

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
}

const ALL: &str = "SELECT id, parent, name, description, environment, environment_trumps, rule, \
     classes, config_data, variables, last_edited_ms, serial_number FROM node_groups ORDER BY id";
const INSERT: &str = "INSERT INTO node_groups (id, parent, name, description, environment, \
     environment_trumps, rule, classes, config_data, variables, last_edited_ms, serial_number) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
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
        self.execute(insert(&row)).await.map(|_| ())
    }

    /// Replaces the groups that still have the given serial numbers, in one transaction. Returns
    /// for each if it was written; `false`: it was deleted or has another serial number.
    pub async fn update_node_groups(
        &self,
        rows: Vec<(NodeGroupRow, i64)>,
    ) -> Result<Vec<bool>, StoreError> {
        let steps = rows.iter().map(|(row, serial_number)| {
            let mut values = values(row);
            values.push(SqlValue::Int(*serial_number));
            SqlStatement {
                sql: UPDATE,
                values,
            }
        });
        let written = self.execute_all(steps.collect()).await?;
        Ok(written.into_iter().map(|rows| rows > 0).collect())
    }

    /// Deletes a group. `false`: it does not exist, has another serial number, or has children.
    pub async fn delete_node_group(
        &self,
        id: &str,
        serial_number: i64,
    ) -> Result<bool, StoreError> {
        let values = vec![SqlValue::owned_text(id), SqlValue::Int(serial_number)];
        let step = SqlStatement {
            sql: DELETE,
            values,
        };
        Ok(self.execute(step).await? > 0)
    }

    /// Replaces all groups by these, in one transaction.
    pub async fn replace_node_groups(&self, rows: Vec<NodeGroupRow>) -> Result<(), StoreError> {
        let clear = SqlStatement {
            sql: DELETE_ALL,
            values: Vec::new(),
        };
        let steps = std::iter::once(clear).chain(rows.iter().map(insert));
        self.execute_all(steps.collect()).await.map(|_| ())
    }
}

fn insert(row: &NodeGroupRow) -> SqlStatement<'static> {
    SqlStatement {
        sql: INSERT,
        values: values(row),
    }
}

fn values(row: &NodeGroupRow) -> Vec<SqlValue<'static>> {
    vec![
        SqlValue::owned_text(&row.id),
        SqlValue::owned_text(&row.parent),
        SqlValue::owned_text(&row.name),
        SqlValue::opt_owned_text(row.description.as_deref()),
        SqlValue::owned_text(&row.environment),
        SqlValue::Int(i64::from(row.environment_trumps)),
        SqlValue::opt_owned_text(row.rule.as_deref()),
        SqlValue::owned_text(&row.classes),
        SqlValue::owned_text(&row.config_data),
        SqlValue::owned_text(&row.variables),
        SqlValue::Int(row.last_edited_ms),
        SqlValue::Int(row.serial_number),
    ]
}

impl FromRow for NodeGroupRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self {
            id: row.text(0)?,
            parent: row.text(1)?,
            name: row.text(2)?,
            description: row.opt_text(3)?,
            environment: row.text(4)?,
            environment_trumps: row.int(5)? != 0,
            rule: row.opt_text(6)?,
            classes: row.text(7)?,
            config_data: row.text(8)?,
            variables: row.text(9)?,
            last_edited_ms: row.int(10)?,
            serial_number: row.int(11)?,
        })
    }
}
