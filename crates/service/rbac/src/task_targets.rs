//! Task targets, and the nodes on which a user may run a task: [`Rbac::task_right`].

use std::collections::BTreeSet;

use store::{Store, StoreError, TaskTargetRow};

use crate::change::CacheInvalidation;
use crate::code_instance::{CodeReach, UnnamedEnvironment};
use crate::defaults::TASK_TARGETS;
use crate::error::name;
use crate::permission::ALL;
use crate::{Identity, ManageError, Permission, PermissionDenied, Rbac};

/// Tasks on nodes as one thing that a role can permit. Nodes are the union of the three lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskTarget {
    /// Its number; 0 before it is written.
    pub id: i64,
    /// For people; not unique.
    pub display_name: String,
    /// Names of tasks; `None`: all.
    pub tasks: Option<Vec<String>>,
    /// Certnames.
    pub nodes: Vec<String>,
    /// UUIDs of node groups.
    pub node_groups: Vec<String>,
    /// Nodes by a query.
    pub pql_query: Option<String>,
}

/// On which nodes a task may be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskScope {
    /// On all.
    All,
    /// On the union of these.
    Some {
        /// Certnames.
        nodes: BTreeSet<String>,
        /// UUIDs of node groups.
        node_groups: BTreeSet<String>,
        /// Queries, each of which gives nodes.
        pql_queries: BTreeSet<String>,
    },
    /// On none.
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
    /// On which nodes `identity` may run `task` with the code of `environment`: on all with
    /// `tasks:run` of it, else on those of the task targets of `tasks:run_with_constraints` that
    /// have the task. A task target is for the environment that each node is in.
    pub async fn task_right(
        &self,
        identity: &Identity,
        task: &str,
        environment: &str,
    ) -> Result<TaskRight, StoreError> {
        let targets = match self.code_reach(identity, "tasks", task, environment) {
            Some(_) => Vec::new(),
            None => self.permitted_targets(identity).await?,
        };
        Ok(self.task_right_of(identity, &targets, task, environment))
    }

    /// On which nodes the jobs of a plan may run that `identity` runs with the code of `environment`.
    pub fn authorize_plan(
        &self,
        identity: &Identity,
        plan: &str,
        environment: &str,
    ) -> Result<CodeReach, PermissionDenied> {
        let reach = self.code_reach(identity, "plans", plan, environment);
        reach.ok_or_else(|| PermissionDenied {
            login: identity.login.clone(),
            permission: Permission::on("plans", "run", plan).to_string(),
        })
    }

    /// `None`: the permission is not there.
    fn code_reach(
        &self,
        identity: &Identity,
        object_type: &str,
        name: &str,
        environment: &str,
    ) -> Option<CodeReach> {
        let permissions = &identity.permissions;
        let reach = permissions.code_reach(object_type, name, environment);
        reach.map(|reach| self.widened(reach))
    }

    /// `reach`, or every node where the settings let a permission without an environment be for any
    /// environment.
    fn widened(&self, reach: CodeReach) -> CodeReach {
        match self.inner.settings.unnamed_environment {
            UnnamedEnvironment::Own => reach,
            UnnamedEnvironment::Any => CodeReach::EveryNode,
        }
    }

    /// The task targets of `tasks:run_with_constraints`, to be asked about many tasks.
    pub async fn permitted_targets(
        &self,
        identity: &Identity,
    ) -> Result<Vec<TaskTarget>, StoreError> {
        let permitted = identity
            .permissions
            .instances("tasks", "run_with_constraints");
        if permitted.iter().any(|id| id == ALL) {
            return self.task_targets().await;
        }
        let mut targets = Vec::new();
        for id in permitted.iter().filter_map(|id| id.parse().ok()) {
            let row = self.inner.store.task_target(id).await?;
            targets.extend(row.map(TaskTarget::from));
        }
        Ok(targets)
    }

    /// Computes [`Rbac::task_right`] from the [`Rbac::permitted_targets`] of `identity`, for
    /// many tasks in a row.
    pub fn task_right_of(
        &self,
        identity: &Identity,
        targets: &[TaskTarget],
        task: &str,
        environment: &str,
    ) -> TaskRight {
        if let Some(reach) = self.code_reach(identity, "tasks", task, environment) {
            let scope = TaskScope::All;
            return TaskRight { scope, reach };
        }
        TaskRight {
            scope: scope_of(targets, task),
            reach: self.widened(CodeReach::OwnEnvironment),
        }
    }

    /// All task targets, by number.
    pub async fn task_targets(&self) -> Result<Vec<TaskTarget>, StoreError> {
        let rows = self.inner.store.task_targets().await?;
        Ok(rows.into_iter().map(TaskTarget::from).collect())
    }

    /// The task target with this number.
    pub async fn task_target(&self, id: i64) -> Result<TaskTarget, ManageError> {
        let row = self.inner.store.task_target(id).await?;
        let row = row.ok_or_else(|| ManageError::Unknown {
            what: "task target",
            id: id.to_string(),
        })?;
        Ok(row.into())
    }

    /// Writes a new target; gives its number, or that of an equal one that is there. Needs the
    /// right to make or edit roles, and `tasks:run` of all that the target permits: whoever has
    /// `tasks:run_with_constraints` of all targets has this one from now on, its maker perhaps
    /// among them.
    pub async fn create_task_target(
        &self,
        by: &Identity,
        target: TaskTarget,
    ) -> Result<i64, ManageError> {
        self.authorize(by, Permission::any("user_roles", "edit"))?;
        match &target.tasks {
            None => self.authorize(by, Permission::on("tasks", "run", ALL))?,
            Some(tasks) => {
                for task in tasks {
                    self.authorize(by, Permission::on("tasks", "run", task))?;
                }
            }
        }
        let display_name = name("display_name", &target.display_name)?;
        let turn = self.turn().await;
        let present = self.task_targets().await?;
        let wanted = target.compared(&display_name);
        let equal = |known: &&TaskTarget| known.compared(&known.display_name) == wanted;
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
            tasks: target.tasks.as_deref().map(json),
            nodes: json(&target.nodes),
            node_groups: json(&target.node_groups),
            pql_query: target.pql_query,
        };
        let write = move |store: Store| async move { store.insert_task_target(row).await };
        self.change(Some(turn), CacheInvalidation::All, write)
            .await?;
        tracing::info!(by = by.login, task_target = id, "made a task target");
        Ok(id)
    }

    /// Deletes a target that no role names, so that nobody loses or gains a right by it. Needs the
    /// right to make or edit roles.
    pub async fn delete_task_target(&self, by: &Identity, id: i64) -> Result<(), ManageError> {
        self.authorize(by, Permission::any("user_roles", "edit"))?;
        let turn = self.turn().await;
        self.task_target(id).await?;
        let roles = self.inner.store.roles_of_task_target(id).await?;
        if !roles.is_empty() {
            return Err(ManageError::InUse { roles });
        }
        let write = move |store: Store| async move { store.delete_task_target(id).await };
        self.change(Some(turn), CacheInvalidation::All, write)
            .await?;
        tracing::info!(by = by.login, task_target = id, "deleted a task target");
        Ok(())
    }
}

/// The nodes of the targets that have the task.
fn scope_of(targets: &[TaskTarget], task: &str) -> TaskScope {
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

/// What two targets are compared by; the order of a list says nothing.
#[derive(PartialEq)]
struct ComparedTarget<'a> {
    display_name: &'a str,
    tasks: Option<BTreeSet<&'a String>>,
    nodes: BTreeSet<&'a String>,
    node_groups: BTreeSet<&'a String>,
    pql_query: Option<&'a String>,
}

impl TaskTarget {
    /// Under its name as it is or would be written.
    fn compared<'a>(&'a self, display_name: &'a str) -> ComparedTarget<'a> {
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

impl From<TaskTargetRow> for TaskTarget {
    fn from(row: TaskTargetRow) -> Self {
        // What cannot be read permits nothing.
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

fn json(list: &[String]) -> String {
    serde_json::Value::from(list).to_string()
}
