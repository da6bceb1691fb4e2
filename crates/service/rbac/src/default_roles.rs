//! The roles that every server has, under the numbers that they have in Puppet Enterprise.
//!
//! The rule: they are what this program says, at each start; only their members are the site's.

use store::{RoleRow, Store, StoreError};

use crate::permission::Grant;

/// Everything.
pub const ADMINISTRATORS: i64 = 1;
/// Runs Puppet and looks after nodes, groups and certificates.
pub const OPERATORS: i64 = 2;
/// Looks on.
pub const VIEWERS: i64 = 3;
/// Deploys code.
pub const CODE_DEPLOYERS: i64 = 4;
/// Deploys projects and runs their plans.
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

/// Writes the default roles; their members stay.
pub(crate) async fn ensure(store: &Store) -> Result<(), StoreError> {
    for default in DEFAULTS {
        let present = store.role(default.id).await?;
        let grants = default.permissions.iter();
        let grants = grants.map(|(object_type, action)| Grant::new(*object_type, *action, "*"));
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
