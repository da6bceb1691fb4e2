//! The permissions that routes ask for, by the names of Puppet Enterprise's RBAC.

use crate::route::Policy;

/// View, start and stop any job, and the inventory: one coarse right, as Puppet Enterprise has it.
pub(super) const VIEW: Policy = may("orchestrator", "view");
/// Run a task; on which nodes and which task, the handler asks.
pub(super) const RUN_TASK: Policy = may("tasks", "run");

/// Run a plan; which, the handler asks.
pub(super) const RUN_PLAN: Policy = may("plans", "run");

/// Run Puppet on nodes.
pub(super) const RUN_PUPPET: Policy = may("puppet_agent", "run");

/// See what is known of nodes: facts, reports.
pub(super) const VIEW_NODE_DATA: Policy = may("nodes", "view_data");

/// See node groups; what else a request does to which group, the handler asks.
pub(super) const VIEW_GROUPS: Policy = may("node_groups", "view");

/// Say which environment nodes of a group get; of which group, a handler asks that has one.
pub(super) const SET_ENVIRONMENT: Policy = may("node_groups", "set_environment");

/// See settings of this service.
pub(super) const VIEW_CONFIGURATION: Policy = may("configuration", "view");

/// Change settings of this service.
pub(super) const EDIT_CONFIGURATION: Policy = may("configuration", "edit");

/// Deploy code; of which environment, the handler asks.
pub(super) const DEPLOY_CODE: Policy = may("environment", "deploy_code");

/// At least one instance of this permission.
pub(super) const fn may(object_type: &'static str, action: &'static str) -> Policy {
    Policy::Permission {
        object_type,
        action,
    }
}
