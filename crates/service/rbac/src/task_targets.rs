//! Task targets, and the nodes on which a user may run a task: [`Rbac::task_right`].

use std::collections::BTreeSet;

use store::{Store, StoreError, TaskTargetRow};

use crate::code_instance::{CodeReach, UnnamedEnvironmentScope};
use crate::defaults::TASK_TARGETS;
use crate::error::validate_name;
use crate::locked_write::CacheInvalidation;
use crate::permission::ALL;
use crate::{ManageError, PermissionDenied, Rbac, RequestedPermission, UserIdentity};

/// Tasks and nodes that a role can permit together. The nodes are the union of `nodes`,
/// `node_groups` and `pql_query`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskTargetRecord {
    /// Id of the target; 0 before it is stored.
    pub id: i64,
    /// Name shown in lists; not unique.
    pub display_name: String,
    /// Names of tasks; `None` permits all tasks.
    pub tasks: Option<Vec<String>>,
    /// Certnames of single nodes.
    pub nodes: Vec<String>,
    /// UUIDs of node groups.
    pub node_groups: Vec<String>,
    /// PQL query for further nodes.
    pub pql_query: Option<String>,
}

/// The nodes on which a user may run a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskScope {
    /// All nodes.
    All,
    /// The union of these nodes.
    Some {
        /// Certnames of single nodes.
        nodes: BTreeSet<String>,
        /// UUIDs of node groups.
        node_groups: BTreeSet<String>,
        /// PQL queries for nodes.
        pql_queries: BTreeSet<String>,
    },
    /// No node.
    None,
}

/// Nodes on which a user may run a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRight {
    /// All nodes, or those that the user's task targets name.
    pub scope: TaskScope,
    /// Limit of `scope` to the nodes that are in the environment of the task's code.
    pub reach: CodeReach,
}

impl Rbac {
    /// The nodes on which `identity` may run `task` with the code of `environment`: all nodes with
    /// `tasks:run` of the task, otherwise the nodes of the task targets that
    /// `tasks:run_with_constraints` permits and that have the task. A task target applies to the
    /// environment of each node.
    pub async fn task_right(
        &self,
        identity: &UserIdentity,
        task: &str,
        environment: &str,
    ) -> Result<TaskRight, StoreError> {
        let targets = match self.code_reach(identity, "tasks", task, environment) {
            Some(_) => Vec::new(),
            None => self.permitted_targets(identity).await?,
        };
        Ok(self.task_right_in(identity, &targets, task, environment))
    }

    /// The nodes on which jobs of a plan may run, if `identity` runs the plan with the code of
    /// `environment`.
    pub fn authorize_plan(
        &self,
        identity: &UserIdentity,
        plan: &str,
        environment: &str,
    ) -> Result<CodeReach, PermissionDenied> {
        let reach = self.code_reach(identity, "plans", plan, environment);
        reach.ok_or_else(|| PermissionDenied {
            login: identity.login.clone(),
            permission: RequestedPermission::on("plans", "run", plan).to_string(),
        })
    }

    /// The nodes that the permission covers; `None` if `identity` lacks the permission.
    fn code_reach(
        &self,
        identity: &UserIdentity,
        object_type: &str,
        name: &str,
        environment: &str,
    ) -> Option<CodeReach> {
        let permissions = &identity.permissions;
        let reach = permissions.code_reach(object_type, name, environment);
        reach.map(|reach| self.apply_unnamed_environment(reach))
    }

    /// `reach`, or every node if the settings apply a permission without an environment to any
    /// environment.
    fn apply_unnamed_environment(&self, reach: CodeReach) -> CodeReach {
        match self.inner.settings.unnamed_environment {
            UnnamedEnvironmentScope::EachNode => reach,
            UnnamedEnvironmentScope::Any => CodeReach::EveryNode,
        }
    }

    /// The task targets that `tasks:run_with_constraints` permits, for [`Self::task_right_in`].
    pub async fn permitted_targets(
        &self,
        identity: &UserIdentity,
    ) -> Result<Vec<TaskTargetRecord>, StoreError> {
        let permitted = identity
            .permissions
            .instances("tasks", "run_with_constraints");
        if permitted.iter().any(|id| id == ALL) {
            return self.task_targets().await;
        }
        let mut targets = Vec::new();
        for id in permitted.iter().filter_map(|id| id.parse().ok()) {
            let row = self.inner.store.task_target(id).await?;
            targets.extend(row.map(TaskTargetRecord::from));
        }
        Ok(targets)
    }

    /// Computes [`Rbac::task_right`] from the [`Rbac::permitted_targets`] of `identity`, for
    /// many tasks in a row.
    pub fn task_right_in(
        &self,
        identity: &UserIdentity,
        targets: &[TaskTargetRecord],
        task: &str,
        environment: &str,
    ) -> TaskRight {
        if let Some(reach) = self.code_reach(identity, "tasks", task, environment) {
            let scope = TaskScope::All;
            return TaskRight { scope, reach };
        }
        TaskRight {
            scope: task_scope(targets, task),
            reach: self.apply_unnamed_environment(CodeReach::OwnEnvironment),
        }
    }

    /// All task targets, sorted by id.
    pub async fn task_targets(&self) -> Result<Vec<TaskTargetRecord>, StoreError> {
        let rows = self.inner.store.task_targets().await?;
        Ok(rows.into_iter().map(TaskTargetRecord::from).collect())
    }

    /// The task target with this id.
    pub async fn task_target(&self, id: i64) -> Result<TaskTargetRecord, ManageError> {
        let row = self.inner.store.task_target(id).await?;
        let row = row.ok_or_else(|| ManageError::Unknown {
            what: "task target",
            id: id.to_string(),
        })?;
        Ok(row.into())
    }

    /// Stores a new target and returns its id, or the id of an equal target. Needs the permission
    /// to create or edit roles, and `tasks:run` of everything that the target permits: each user
    /// with `tasks:run_with_constraints` of all targets gets the new target too, perhaps also its
    /// creator.
    pub async fn create_task_target(
        &self,
        by: &UserIdentity,
        target: TaskTargetRecord,
    ) -> Result<i64, ManageError> {
        self.authorize(by, RequestedPermission::any("user_roles", "edit"))?;
        match &target.tasks {
            None => self.authorize(by, RequestedPermission::on("tasks", "run", ALL))?,
            Some(tasks) => {
                for task in tasks {
                    self.authorize(by, RequestedPermission::on("tasks", "run", task))?;
                }
            }
        }
        let display_name = validate_name("display_name", &target.display_name)?;
        let turn = self.lock_rights().await;
        let present = self.task_targets().await?;
        let wanted = target.comparable_parts(&display_name);
        let equal =
            |known: &&TaskTargetRecord| known.comparable_parts(&known.display_name) == wanted;
        if let Some(known) = present.iter().find(equal) {
            return Ok(known.id);
        }
        if present.len() >= TASK_TARGETS {
            return Err(ManageError::TooManyTaskTargets);
        }
        let id = self.inner.store.next_task_target_id().await?;
        let row = TaskTargetRow {
            id,
            display_name,
            tasks: target.tasks.as_deref().map(to_json_list),
            nodes: to_json_list(&target.nodes),
            node_groups: to_json_list(&target.node_groups),
            pql_query: target.pql_query,
        };
        let write = move |store: Store| async move { store.insert_task_target(row).await };
        self.write_and_invalidate(Some(turn), CacheInvalidation::All, write)
            .await?;
        tracing::info!(by = by.login, task_target = id, "made a task target");
        Ok(id)
    }

    /// Deletes a target that no role refers to, so that no permission changes. Needs the permission
    /// to create or edit roles.
    pub async fn delete_task_target(&self, by: &UserIdentity, id: i64) -> Result<(), ManageError> {
        self.authorize(by, RequestedPermission::any("user_roles", "edit"))?;
        let turn = self.lock_rights().await;
        self.task_target(id).await?;
        let roles = self.inner.store.roles_of_task_target(id).await?;
        if !roles.is_empty() {
            return Err(ManageError::InUse { roles });
        }
        let write = move |store: Store| async move { store.delete_task_target(id).await };
        self.write_and_invalidate(Some(turn), CacheInvalidation::All, write)
            .await?;
        tracing::info!(by = by.login, task_target = id, "deleted a task target");
        Ok(())
    }
}

/// The nodes of the targets that have the task.
fn task_scope(targets: &[TaskTargetRecord], task: &str) -> TaskScope {
    let (mut nodes, mut node_groups, mut pql_queries) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for target in targets.iter().filter(|target| target.has(task)) {
        nodes.extend(target.nodes.iter().cloned());
        node_groups.extend(target.node_groups.iter().cloned());
        pql_queries.extend(target.pql_query.clone());
    }
    if nodes.is_empty() && node_groups.is_empty() && pql_queries.is_empty() {
        return TaskScope::None;
    }
    TaskScope::Some {
        nodes,
        node_groups,
        pql_queries,
    }
}

/// The parts of a target that count for equality. The order in lists does not matter.
#[derive(PartialEq)]
struct ComparedTarget<'a> {
    display_name: &'a str,
    tasks: Option<BTreeSet<&'a String>>,
    nodes: BTreeSet<&'a String>,
    node_groups: BTreeSet<&'a String>,
    pql_query: Option<&'a String>,
}

impl TaskTargetRecord {
    /// The parts to compare, with the display name as it is stored.
    fn comparable_parts<'a>(&'a self, display_name: &'a str) -> ComparedTarget<'a> {
        ComparedTarget {
            display_name,
            tasks: self.tasks.as_ref().map(|tasks| tasks.iter().collect()),
            nodes: self.nodes.iter().collect(),
            node_groups: self.node_groups.iter().collect(),
            pql_query: self.pql_query.as_ref(),
        }
    }

    fn has(&self, task: &str) -> bool {
        self.tasks
            .as_ref()
            .is_none_or(|tasks| tasks.iter().any(|name| name == task))
    }
}

impl From<TaskTargetRow> for TaskTargetRecord {
    fn from(row: TaskTargetRow) -> Self {
        // A list that cannot be decoded permits nothing.
        let list = |text: &str| serde_json::from_str::<Vec<String>>(text).unwrap_or_default();
        Self {
            id: row.id,
            display_name: row.display_name,
            tasks: row.tasks.as_deref().map(list),
            nodes: list(&row.nodes),
            node_groups: list(&row.node_groups),
            pql_query: row.pql_query,
        }
    }
}

fn to_json_list(list: &[String]) -> String {
    serde_json::Value::from(list).to_string()
}
