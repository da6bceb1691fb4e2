//! Which rights an edit of a group needs. Main function: [`needs`].
//!
//! The rules: a right on a group is one on everything below it; what a group does to its nodes
//! (classes, variables, configuration data, environment) is guarded where the group stands, what
//! decides who its nodes are (its rule, its place) one level above; a new group needs every right
//! that an edit to the same state would, so that creating is no way around editing.

use crate::group::{Group, GroupId};

/// A permission of the type `node_groups`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// See the group.
    View,
    /// Create, rename, move and delete groups below it.
    ModifyChildren,
    /// Edit the rules of groups below it, pinned nodes included.
    EditChildRules,
    /// Edit classes, their parameters, and variables.
    EditClassification,
    /// Edit parameters and variables, of classes that are there.
    EditParametersAndVariables,
    /// Edit configuration data.
    EditConfigData,
    /// Choose the environment.
    SetEnvironment,
}

/// Who edits.
pub trait Editor: Send + 'static {
    /// Whether a right was granted on exactly this group.
    fn may(&self, right: Right, group: GroupId) -> bool;
}

/// May do everything: for the server's own edits.
#[derive(Clone, Copy, Debug)]
pub struct Unrestricted;

/// One of these rights, on this group or an ancestor of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) any_of: Vec<Right>,
    pub(crate) on: GroupId,
}

impl Right {
    /// Every right.
    pub const ALL: &[Self] = &[
        Self::View,
        Self::ModifyChildren,
        Self::EditChildRules,
        Self::EditClassification,
        Self::EditParametersAndVariables,
        Self::EditConfigData,
        Self::SetEnvironment,
    ];

    /// The action's name in RBAC.
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

impl Editor for Unrestricted {
    fn may(&self, _: Right, _: GroupId) -> bool {
        true
    }
}

/// The needs of turning `before` into `after`; `None`: not there.
pub(crate) fn needs(
    before: Option<&Group>,
    after: Option<&Group>,
    parent_environment: Option<&str>,
) -> Vec<Need> {
    let need = |on: GroupId, right| Need {
        any_of: vec![right],
        on,
    };
    match (before, after) {
        (None, None) => Vec::new(),
        (Some(gone), None) => vec![need(gone.parent, Right::ModifyChildren)],
        (None, Some(new)) => {
            let on = new.parent;
            let mut needs = vec![need(on, Right::ModifyChildren)];
            let chooses =
                new.environment_trumps || parent_environment != Some(new.environment.as_str());
            let asked = [
                (new.rule.is_some(), Right::EditChildRules),
                (
                    !new.classes.is_empty() || !new.variables.is_empty(),
                    Right::EditClassification,
                ),
                (!new.config_data.is_empty(), Right::EditConfigData),
                (chooses, Right::SetEnvironment),
            ];
            let asked = asked.iter().filter(|(asked, _)| *asked);
            needs.extend(asked.map(|(_, right)| need(on, *right)));
            needs
        }
        (Some(before), Some(after)) => edits(before, after),
    }
}

fn edits(before: &Group, after: &Group) -> Vec<Need> {
    let mut needs = Vec::new();
    let mut add = |asked: bool, on: GroupId, any_of: &[Right]| {
        if asked {
            needs.push(Need {
                any_of: any_of.to_vec(),
                on,
            });
        }
    };
    let moved = before.parent != after.parent;
    let named = before.name != after.name || before.description != after.description;
    add(moved || named, before.parent, &[Right::ModifyChildren]);
    add(moved, after.parent, &[Right::ModifyChildren]);
    // The rules above a group are part of its own.
    let ruled = before.rule != after.rule;
    add(moved || ruled, before.parent, &[Right::EditChildRules]);
    add(moved, after.parent, &[Right::EditChildRules]);
    let same_classes = before.classes.keys().eq(after.classes.keys());
    let classes = before.classes != after.classes;
    let variables = before.variables != after.variables;
    add(
        classes && !same_classes,
        before.id,
        &[Right::EditClassification],
    );
    add(
        (classes && same_classes) || variables,
        before.id,
        &[Right::EditClassification, Right::EditParametersAndVariables],
    );
    let data = before.config_data != after.config_data;
    add(data, before.id, &[Right::EditConfigData]);
    let environment = before.environment != after.environment
        || before.environment_trumps != after.environment_trumps;
    add(environment, before.id, &[Right::SetEnvironment]);
    needs
}
