//! Catalog of all permissions, with the names of Puppet Enterprise: [`OBJECT_TYPES`].
//!
//! Invariant: roles can have only permissions of this catalog, and routes require only permissions
//! of this catalog. A permission outside it is held by administrators alone.

/// A type of object that permissions apply to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogObjectType {
    /// Name in requests, for example `tasks`.
    pub name: &'static str,
    /// Name shown to administrators.
    pub display_name: &'static str,
    /// Explanation shown to administrators.
    pub description: &'static str,
    /// Actions that a role can permit on objects of this type.
    pub actions: &'static [PermissionAction],
}

/// An action that a role can permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PermissionAction {
    /// Name in requests, for example `run`.
    pub name: &'static str,
    /// Name shown to administrators.
    pub display_name: &'static str,
    /// Explanation shown to administrators.
    pub description: &'static str,
    /// True if the action can be permitted on single instances, false if on `*` only.
    pub has_instances: bool,
}

macro_rules! catalog {
    ($($type:literal $display:literal $text:literal {
        $($action:literal $on:ident $shown:literal $what:literal;)*
    })*) => {
        /// All object types. [`index`] counts actions in this order.
        pub const OBJECT_TYPES: &[CatalogObjectType] = &[$(CatalogObjectType {
            name: $type,
            display_name: $display,
            description: $text,
            actions: &[$(PermissionAction {
                name: $action,
                display_name: $shown,
                description: $what,
                has_instances: catalog!($on),
            }),*],
        }),*];
    };
    (each) => { true };
    (all) => { false };
}

catalog! {
    "orchestrator" "Job orchestrator" "Jobs and what they run on." {
        "view" all "Start, stop and view jobs"
            "See jobs, events, connected nodes; stop jobs. Starting needs a permission of its own.";
    }
    "puppet_agent" "Puppet agent" "Puppet on the nodes." {
        "run" all "Run Puppet" "Start Puppet runs on nodes.";
    }
    "tasks" "Tasks" "Tasks of the environments." {
        "run" each "Run tasks" "Run a task of the environment that each node is in; the instance is the task's name, \
              or name@environment for the code of that one on any node.";
        "run_with_constraints" each "Run tasks on a task target"
            "Run the tasks of a task target on its nodes; the instance is the target's number.";
    }
    "plans" "Plans" "Plans of the environments." {
        "run" each "Run plans" "Run a plan on nodes that are in its environment; the instance is the plan's name, or \
              name@environment for the code of that one on any node.";
    }
    "nodes" "Nodes" "What is known of nodes." {
        "view_data" all "View node data" "See facts and reports, and choose nodes by a query.";
        "edit_data" all "Edit node data" "Change what is known of nodes.";
        "view_inventory_sensitive" all "View sensitive connection data"
            "See secrets of connections.";
        "add_connections" all "Add connections" "Add nodes that are reached over SSH.";
        "delete_connections" all "Delete connections" "Delete such nodes.";
    }
    "environment" "Environments" "Puppet code." {
        "deploy_code" each "Deploy code" "Deploy an environment; the instance is its name.";
    }
    "node_groups" "Node groups"
        "Groups of the classifier. A permission holds for the descendants of a group as well." {
        "view" each "View" "See a group and what it classifies.";
        "modify_children" each "Create, edit and delete child groups" "Change child groups.";
        "edit_child_rules" each "Edit child group rules" "Change which nodes are in child groups.";
        "edit_classification" each "Edit classes, parameters and variables"
            "Change what a group classifies.";
        "edit_config_data" each "Edit configuration data" "Change data of a group.";
        "edit_params_and_vars" each "Edit parameters and variables"
            "Change parameters of classes that are there, and variables.";
        "set_environment" each "Set environment" "Change the environment of a group.";
    }
    "scheduled_jobs" "Scheduled jobs" "Jobs that start by the clock." {
        "delete" each "Delete scheduled jobs of others"
            "Change and delete them; the instance is the owner's id.";
    }
    "console_page" "Console" "The console." {
        "view" all "View" "Use the console; see users, groups and roles.";
    }
    "cert_requests" "Certificate requests" "Requests of the CA." {
        "accept_reject" all "Accept and reject" "Sign and reject requests for certificates.";
    }
    "puppetserver" "Puppet Server" "The compiler." {
        "compile_catalogs" each "Compile catalogs" "Compile the catalog of any node with the code of an environment; the instance is its name.";
    }
    "directory_service" "Directory service" "Where remote users come from." {
        "edit" all "View, edit and test" "Change the settings of directories.";
    }
    "configuration" "Configuration" "Settings of this service." {
        "view" all "View" "See settings.";
        "edit" all "Edit" "Change settings, for example the disclaimer.";
    }
    "users" "Users" "Who may log in." {
        "create" all "Create" "Create users.";
        "edit" each "Edit" "Change name, login and e-mail address of users.";
        "reset_password" each "Reset password" "Let users set a new password.";
        "disable" each "Revoke, reinstate and delete"
            "Revoke, reinstate and delete users; see and revoke their tokens.";
    }
    "user_groups" "User groups" "Groups of a directory." {
        "import" all "Import" "Import and edit groups.";
        "delete" each "Delete" "Delete groups.";
    }
    "user_roles" "User roles" "Roles." {
        "create" all "Create" "Create roles.";
        "edit" each "Edit and delete" "Change what a role permits, and delete it.";
        "edit_members" each "Edit members" "Give roles to users and groups, and take them.";
    }
    "audit" "Audit" "Who did what." {
        "view" all "View" "Read the audit.";
    }
}

/// Number of actions in the catalog.
pub(crate) const ACTIONS: usize = count();

/// Index of an action among all actions; `None` if the catalog does not list it.
pub(crate) fn index(object_type: &str, action: &str) -> Option<usize> {
    let mut before = 0;
    for listed in OBJECT_TYPES {
        if listed.name == object_type {
            let at = listed.actions.iter().position(|a| a.name == action)?;
            return Some(before + at);
        }
        before += listed.actions.len();
    }
    None
}

/// The action with these names; `None` if the catalog does not list it.
pub fn find(object_type: &str, action: &str) -> Option<&'static PermissionAction> {
    let listed = OBJECT_TYPES.iter().find(|t| t.name == object_type)?;
    listed.actions.iter().find(|a| a.name == action)
}

const fn count() -> usize {
    let (mut sum, mut i) = (0, 0);
    while i < OBJECT_TYPES.len() {
        sum += OBJECT_TYPES[i].actions.len();
        i += 1;
    }
    sum
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_action_has_a_place_of_its_own() {
        let mut places = BTreeSet::new();
        for object_type in OBJECT_TYPES {
            for action in object_type.actions {
                places.insert(index(object_type.name, action.name).unwrap());
                assert_eq!(find(object_type.name, action.name), Some(action));
            }
        }
        assert_eq!(places.len(), ACTIONS);
        assert_eq!(places.last(), Some(&(ACTIONS - 1)));
        assert_eq!(index("tasks", "view"), None);
        assert_eq!(index("", ""), None);
    }
}
