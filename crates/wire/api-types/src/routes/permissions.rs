//! Permissions that routes need, by the names of Puppet Enterprise's RBAC.

use crate::route::Policy;

/// View, start and stop any job, and view the inventory: one coarse permission, as in Puppet
/// Enterprise.
pub(super) const VIEW: Policy = may("orchestrator", "view");
/// Run a task; the handler checks the task and the nodes.
pub(super) const RUN_TASK: Policy = may("tasks", "run");

/// Run a plan; the handler checks the plan.
pub(super) const RUN_PLAN: Policy = may("plans", "run");

/// Run Puppet on nodes.
pub(super) const RUN_PUPPET: Policy = may("puppet_agent", "run");

/// View the data of nodes: facts and reports.
pub(super) const VIEW_NODE_DATA: Policy = may("nodes", "view_data");

/// View node groups; the handler checks the permissions for changes to a group.
pub(super) const VIEW_GROUPS: Policy = may("node_groups", "view");

/// Set the environment of a node group; the handler checks the group if the request names one.
pub(super) const SET_ENVIRONMENT: Policy = may("node_groups", "set_environment");

/// View the settings of this service.
pub(super) const VIEW_CONFIGURATION: Policy = may("configuration", "view");

/// Change the settings of this service.
pub(super) const EDIT_CONFIGURATION: Policy = may("configuration", "edit");

/// Deploy code; the handler checks the environment.
pub(super) const DEPLOY_CODE: Policy = may("environment", "deploy_code");

/// Compile catalogs; the handler checks the environment.
pub(super) const COMPILE_CATALOGS: Policy = may("puppetserver", "compile_catalogs");

/// Permission on at least one instance of the object type.
pub(super) const fn may(object_type: &'static str, action: &'static str) -> Policy {
    Policy::Permission {
        object_type,
        action,
    }
}
