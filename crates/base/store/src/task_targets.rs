//! Task targets: sets of tasks and nodes that a role can permit as one instance.
//!
//! Invariant: a target is written once, never changed, and not deleted while a role names it,
//! because the permissions that roles grant by its number would change with it; numbers are
//! contiguous and never used again.

use crate::StoreError;
use crate::roles::{NEXT, TAKE};
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::{ColumnError, FromRow, RowColumns, SqlValue};

/// A stored task target. Lists are JSON arrays of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskTargetRow {
    /// Number of the target.
    pub id: i64,
    /// Name shown to users; not unique.
    pub display_name: String,
    /// Names of tasks as a JSON array; `None`: all tasks.
    pub tasks: Option<String>,
    /// Certnames as a JSON array.
    pub nodes: String,
    /// UUIDs of node groups as a JSON array.
    pub node_groups: String,
    /// Query that selects further nodes; `None`: no query.
    pub pql_query: Option<String>,
}

const COUNTER: &str = "task_target";

const INSERT: &str = "INSERT INTO task_targets (id, display_name, tasks, nodes, node_groups, \
     pql_query) VALUES ($1, $2, $3, $4, $5, $6)";
const ALL: &str = "SELECT id, display_name, tasks, nodes, node_groups, pql_query \
     FROM task_targets ORDER BY id";
const ONE: &str = "SELECT id, display_name, tasks, nodes, node_groups, pql_query \
     FROM task_targets WHERE id = $1";

const ROLES: &str = "SELECT role_id FROM role_permissions WHERE object_type = 'tasks' \
     AND action = 'run_with_constraints' AND instance = $1 ORDER BY role_id";
const DELETE: &str = "DELETE FROM task_targets WHERE id = $1 AND NOT EXISTS (\
     SELECT 1 FROM role_permissions WHERE object_type = 'tasks' \
     AND action = 'run_with_constraints' AND instance = $2)";

pub(crate) const STATEMENTS: &[&str] = &[INSERT, ALL, ONE, ROLES, DELETE];

impl Store {
    /// The number of the next new target; valid until another one is inserted.
    pub async fn next_task_target_id(&self) -> Result<i64, StoreError> {
        let last: Option<i64> = self
            .query_one(NEXT, vec![SqlValue::owned_text(COUNTER)])
            .await?;
        Ok(last.unwrap_or(0) + 1)
    }

    /// Writes a target under its number.
    pub async fn insert_task_target(&self, target: TaskTargetRow) -> Result<(), StoreError> {
        let take = SqlStatement {
            sql: TAKE,
            values: vec![SqlValue::owned_text(COUNTER), SqlValue::Int(target.id)],
        };
        let values = vec![
            SqlValue::Int(target.id),
            SqlValue::owned_text(&target.display_name),
            SqlValue::opt_owned_text(target.tasks.as_deref()),
            SqlValue::owned_text(&target.nodes),
            SqlValue::owned_text(&target.node_groups),
            SqlValue::opt_owned_text(target.pql_query.as_deref()),
        ];
        let sql = INSERT;
        self.execute_all(vec![take, SqlStatement { sql, values }])
            .await
            .map(|_| ())
    }

    /// All targets, by number.
    pub async fn task_targets(&self) -> Result<Vec<TaskTargetRow>, StoreError> {
        self.query(ALL, Vec::new()).await
    }

    /// The target with this number.
    pub async fn task_target(&self, id: i64) -> Result<Option<TaskTargetRow>, StoreError> {
        self.query_one(ONE, vec![SqlValue::Int(id)]).await
    }

    /// The roles that name this target.
    pub async fn roles_of_task_target(&self, id: i64) -> Result<Vec<i64>, StoreError> {
        self.query(ROLES, vec![SqlValue::owned_text(&id.to_string())])
            .await
    }

    /// Deletes a target. `false`: it does not exist, or a role names it.
    pub async fn delete_task_target(&self, id: i64) -> Result<bool, StoreError> {
        let values = vec![SqlValue::Int(id), SqlValue::owned_text(&id.to_string())];
        let step = SqlStatement {
            sql: DELETE,
            values,
        };
        Ok(self.execute(step).await? > 0)
    }
}

impl FromRow for TaskTargetRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self {
            id: row.int(0)?,
            display_name: row.text(1)?,
            tasks: row.opt_text(2)?,
            nodes: row.text(3)?,
            node_groups: row.text(4)?,
            pql_query: row.opt_text(5)?,
        })
    }
}
