//! Task targets: sets of tasks and nodes that a role can permit as one instance.
//!
//! Invariant: a target is written once, never changed, and not deleted while a role names it,
//! because the permissions that roles grant by its number would change with it; numbers are
//! contiguous and never used again.

use crate::StoreError;
use crate::roles::{NEXT, TAKE};
use crate::rows::row;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;

row! {
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
    } read write columns columns select targets from "task_targets"
}

const COUNTER: &str = "task_target";

const INSERT: &str = concat!(
    "INSERT INTO task_targets (",
    columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6)"
);
const ALL: &str = targets!("ORDER BY id");
const ONE: &str = targets!("WHERE id = $1");

const ROLES: &str = "SELECT role_id FROM role_permissions WHERE object_type = 'tasks' \
     AND action = 'run_with_constraints' AND instance = $1 ORDER BY role_id";
const DELETE: &str = "DELETE FROM task_targets WHERE id = $1 AND NOT EXISTS (\
     SELECT 1 FROM role_permissions WHERE object_type = 'tasks' \
     AND action = 'run_with_constraints' AND instance = $2)";

pub(crate) const STATEMENTS: &[&str] = &[INSERT, ALL, ONE, ROLES, DELETE];

impl Store {
    /// The number of the next new target; valid until another one is inserted.
    pub async fn next_task_target_id(&self) -> Result<i64, StoreError> {
        let last: Option<i64> = self.query_one(NEXT, values![COUNTER]).await?;
        Ok(last.unwrap_or(0) + 1)
    }

    /// Writes a target under its number.
    pub async fn insert_task_target(&self, target: TaskTargetRow) -> Result<(), StoreError> {
        let take = SqlStatement::new(TAKE, values![COUNTER, target.id]);
        let insert = SqlStatement::new(INSERT, values![target]);
        self.execute_all([take, insert]).await.map(drop)
    }

    /// All targets, by number.
    pub async fn task_targets(&self) -> Result<Vec<TaskTargetRow>, StoreError> {
        self.query(ALL, Vec::new()).await
    }

    /// The target with this number.
    pub async fn task_target(&self, id: i64) -> Result<Option<TaskTargetRow>, StoreError> {
        self.query_one(ONE, values![id]).await
    }

    /// The roles that name this target.
    pub async fn roles_of_task_target(&self, id: i64) -> Result<Vec<i64>, StoreError> {
        let instance = id.to_string();
        self.query(ROLES, values![instance]).await
    }

    /// Deletes a target. `false`: it does not exist, or a role names it.
    pub async fn delete_task_target(&self, id: i64) -> Result<bool, StoreError> {
        let instance = id.to_string();
        Ok(self.execute(DELETE, values![id, instance]).await? > 0)
    }
}
