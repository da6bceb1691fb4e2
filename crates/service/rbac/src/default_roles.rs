//! The default roles of every server, with their ids in Puppet Enterprise.
//!
//! Invariant: each start restores their names and permissions. Only their members can be changed.

use store::{RoleRow, Store, StoreError};

use crate::permission::PermissionGrant;

/// Id of the role that has every permission.
pub const ADMINISTRATORS: i64 = 1;
/// Id of the role that runs Puppet and manages nodes, node groups and certificates.
pub const OPERATORS: i64 = 2;
/// Id of the role that can view jobs, nodes and node groups.
pub const VIEWERS: i64 = 3;
/// Id of the role that deploys code.
pub const CODE_DEPLOYERS: i64 = 4;
/// Id of the role that deploys projects and runs their plans.
pub const PROJECT_DEPLOYERS: i64 = 5;

struct DefaultRole {
    id: i64,
    name: &'static str,
    description: &'static str,
    permissions: &'static [(&'static str, &'static str)],
}

const DEFAULTS: &[DefaultRole] = &[
    DefaultRole {
        id: ADMINISTRATORS,
        name: "Administrators",
        description: "May do everything.",
        permissions: &[("*", "*")],
    },
    DefaultRole {
        id: OPERATORS,
        name: "Operators",
        description: "Run Puppet, classify nodes, sign certificates.",
        permissions: &[
            ("console_page", "view"),
            ("orchestrator", "view"),
            ("puppet_agent", "run"),
            ("nodes", "view_data"),
            ("nodes", "edit_data"),
            ("cert_requests", "accept_reject"),
            ("node_groups", "view"),
            ("node_groups", "modify_children"),
            ("node_groups", "edit_child_rules"),
            ("node_groups", "edit_classification"),
            ("node_groups", "edit_config_data"),
            ("node_groups", "edit_params_and_vars"),
            ("node_groups", "set_environment"),
        ],
    },
    DefaultRole {
        id: VIEWERS,
        name: "Viewers",
        description: "Look on.",
        permissions: &[
            ("console_page", "view"),
            ("orchestrator", "view"),
            ("nodes", "view_data"),
            ("node_groups", "view"),
        ],
    },
    DefaultRole {
        id: CODE_DEPLOYERS,
        name: "Code Deployers",
        description: "Deploy code.",
        permissions: &[("environment", "deploy_code")],
    },
    DefaultRole {
        id: PROJECT_DEPLOYERS,
        name: "Project Deployers",
        description: "Deploy projects and run their plans.",
        permissions: &[
            ("orchestrator", "view"),
            ("environment", "deploy_code"),
            ("plans", "run"),
        ],
    },
];

/// Restores the default roles; their members stay.
pub(crate) async fn ensure(store: &Store) -> Result<(), StoreError> {
    for default in DEFAULTS {
        let present = store.role(default.id).await?;
        let grants = default.permissions.iter();
        let grants =
            grants.map(|(object_type, action)| PermissionGrant::new(*object_type, *action, "*"));
        let mut wanted = RoleRow {
            id: default.id,
            display_name: default.name.to_owned(),
            description: default.description.to_owned(),
            permissions: grants.map(Into::into).collect(),
            ..RoleRow::default()
        };
        wanted.permissions.sort();
        if let Some(present) = &present {
            wanted.user_ids.clone_from(&present.user_ids);
            wanted.group_ids.clone_from(&present.group_ids);
        }
        if present.as_ref() != Some(&wanted) {
            store.put_role(wanted).await?;
        }
    }
    Ok(())
}

pub(crate) fn is_default(id: i64) -> bool {
    DEFAULTS.iter().any(|default| default.id == id)
}
