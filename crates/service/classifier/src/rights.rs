//! The permissions that an edit of a group requires. Main function: [`required_permissions`].
//!
//! Invariants: a permission on a group covers all groups below it. A change of what a group gives
//! to its nodes (classes, variables, configuration data, environment) requires a permission on the
//! group itself. A change of what selects its nodes (its rule, its parent) requires a permission
//! on the level above. A new group requires every permission that an edit to the same state would,
//! so that creating a group cannot bypass the checks of editing.

use crate::group::{ClassifierGroup, GroupId};

/// A permission of the type `node_groups`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeGroupRight {
    /// Permission to view the group.
    View,
    /// Permission to create, rename, move and delete groups below it.
    ModifyChildren,
    /// Permission to edit the rules of groups below it, pinned nodes included.
    EditChildRules,
    /// Permission to edit classes, their parameters, and variables.
    EditClassification,
    /// Permission to edit variables, and parameters of classes that the group already has.
    EditParametersAndVariables,
    /// Permission to edit configuration data.
    EditConfigData,
    /// Permission to choose the environment.
    SetEnvironment,
}

/// The user or program that edits groups, with its permissions.
pub trait GroupEditor: Send + 'static {
    /// Returns `true` if the permission was granted on exactly this group.
    fn has_direct_right(&self, right: NodeGroupRight, group: GroupId) -> bool;
}

/// An editor with every permission, for edits by the server itself.
#[derive(Clone, Copy, Debug)]
pub struct UnrestrictedEditor;

/// A required permission: one of several rights, on this group or an ancestor of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequiredPermission {
    pub(crate) any_of: Vec<NodeGroupRight>,
    pub(crate) on: GroupId,
}

impl NodeGroupRight {
    /// All permissions of the type `node_groups`.
    pub const ALL: &[Self] = &[
        Self::View,
        Self::ModifyChildren,
        Self::EditChildRules,
        Self::EditClassification,
        Self::EditParametersAndVariables,
        Self::EditConfigData,
        Self::SetEnvironment,
    ];

    /// Name of the permission's action in RBAC.
    pub fn action(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::ModifyChildren => "modify_children",
            Self::EditChildRules => "edit_child_rules",
            Self::EditClassification => "edit_classification",
            Self::EditParametersAndVariables => "edit_params_and_vars",
            Self::EditConfigData => "edit_config_data",
            Self::SetEnvironment => "set_environment",
        }
    }
}

impl GroupEditor for UnrestrictedEditor {
    fn has_direct_right(&self, _: NodeGroupRight, _: GroupId) -> bool {
        true
    }
}

/// The permissions required to turn `before` into `after`; `None` means that the group does not
/// exist.
pub(crate) fn required_permissions(
    before: Option<&ClassifierGroup>,
    after: Option<&ClassifierGroup>,
    parent_environment: Option<&str>,
) -> Vec<RequiredPermission> {
    let need = |on: GroupId, right| RequiredPermission {
        any_of: vec![right],
        on,
    };
    match (before, after) {
        (None, None) => Vec::new(),
        (Some(gone), None) => vec![need(gone.parent, NodeGroupRight::ModifyChildren)],
        (None, Some(new)) => {
            let on = new.parent;
            let mut needs = vec![need(on, NodeGroupRight::ModifyChildren)];
            let chooses =
                new.environment_trumps || parent_environment != Some(new.environment.as_str());
            let asked = [
                (new.rule.is_some(), NodeGroupRight::EditChildRules),
                (
                    !new.classes.is_empty() || !new.variables.is_empty(),
                    NodeGroupRight::EditClassification,
                ),
                (!new.config_data.is_empty(), NodeGroupRight::EditConfigData),
                (chooses, NodeGroupRight::SetEnvironment),
            ];
            let asked = asked.iter().filter(|(asked, _)| *asked);
            needs.extend(asked.map(|(_, right)| need(on, *right)));
            needs
        }
        (Some(before), Some(after)) => edit_permissions(before, after),
    }
}

fn edit_permissions(before: &ClassifierGroup, after: &ClassifierGroup) -> Vec<RequiredPermission> {
    let mut needs = Vec::new();
    let mut add = |asked: bool, on: GroupId, any_of: &[NodeGroupRight]| {
        if asked {
            needs.push(RequiredPermission {
                any_of: any_of.to_vec(),
                on,
            });
        }
    };
    let moved = before.parent != after.parent;
    let named = before.name != after.name || before.description != after.description;
    add(
        moved || named,
        before.parent,
        &[NodeGroupRight::ModifyChildren],
    );
    add(moved, after.parent, &[NodeGroupRight::ModifyChildren]);
    // The rules of a group's ancestors also restrict the group, so moving it changes its effective
    // rule.
    let ruled = before.rule != after.rule;
    add(
        moved || ruled,
        before.parent,
        &[NodeGroupRight::EditChildRules],
    );
    add(moved, after.parent, &[NodeGroupRight::EditChildRules]);
    let same_classes = before.classes.keys().eq(after.classes.keys());
    let classes = before.classes != after.classes;
    let variables = before.variables != after.variables;
    add(
        classes && !same_classes,
        before.id,
        &[NodeGroupRight::EditClassification],
    );
    add(
        (classes && same_classes) || variables,
        before.id,
        &[
            NodeGroupRight::EditClassification,
            NodeGroupRight::EditParametersAndVariables,
        ],
    );
    let data = before.config_data != after.config_data;
    add(data, before.id, &[NodeGroupRight::EditConfigData]);
    let environment = before.environment != after.environment
        || before.environment_trumps != after.environment_trumps;
    add(environment, before.id, &[NodeGroupRight::SetEnvironment]);
    needs
}
