//! Computes the effect of an edit on the groups before anything is written. Main types:
//! [`GroupEdit`], [`EditError`].
//!
//! Invariant: a decision is a pure function of the tree. It returns the group before and after the
//! edit, or the reason for a refusal.

mod error;

use std::collections::HashSet;
use std::sync::Arc;

use crate::defaults::RULE_CONDITIONS;
use crate::group::{ClassifierGroup, GroupDelta, GroupId, GroupInput};
use crate::rights::{GroupEditor, required_permissions};
use crate::tree::NodeGroupTree;
use crate::{NodeGroupRight, NodeGroupRule};

pub use error::EditError;

/// One edit of one group.
#[derive(Clone, Debug)]
pub(crate) enum GroupEdit {
    /// Creates a group, with a new id unless the input has one.
    Create(GroupInput),
    /// Creates or replaces the group with this id.
    Put(GroupId, GroupInput),
    Update(GroupId, GroupDelta),
    Delete(GroupId),
    Pin(GroupId, Vec<String>),
    Unpin(GroupId, Vec<String>),
}

/// The group before and after an edit.
#[derive(Clone, Debug)]
pub(crate) struct EditDecision {
    pub(crate) before: Option<Arc<ClassifierGroup>>,
    pub(crate) after: Option<ClassifierGroup>,
}

impl GroupEdit {
    pub(crate) fn decide(
        self,
        tree: &NodeGroupTree,
        now_ms: i64,
    ) -> Result<EditDecision, EditError> {
        match self {
            Self::Create(input) => {
                let id = input.id.unwrap_or_else(GroupId::random);
                match tree.group(id) {
                    Some(_) => decide_put(tree, id, input, now_ms),
                    None => Ok(EditDecision::new(None, Some(input.into_group(id, now_ms)))),
                }
            }
            Self::Put(id, input) => decide_put(tree, id, input, now_ms),
            Self::Update(id, delta) => {
                let before = existing_group(tree, id)?;
                check_id(delta.id, id)?;
                check_serial(delta.serial_number, &before)?;
                let after = delta.apply(ClassifierGroup::clone(&before));
                with_edit_metadata(before, after, now_ms)
            }
            Self::Delete(id) => {
                let before = existing_group(tree, id)?;
                if id == GroupId::ROOT {
                    return Err(EditError::RootStays);
                }
                let children = tree.children(id).unwrap_or_default();
                if !children.is_empty() {
                    return Err(EditError::ChildrenPresent {
                        group: before,
                        children: children.into_iter().cloned().collect(),
                    });
                }
                Ok(EditDecision::new(Some(before), None))
            }
            Self::Pin(id, names) => {
                let before = existing_group(tree, id)?;
                let mut after = ClassifierGroup::clone(&before);
                let pinned = after
                    .rule
                    .as_ref()
                    .map_or(0, |rule| rule.pinned_names().len());
                if pinned + names.len() > RULE_CONDITIONS / 2 {
                    return Err(EditError::TooManyPins);
                }
                after.rule = Some(NodeGroupRule::pin(after.rule, &names));
                with_edit_metadata(before, after, now_ms)
            }
            Self::Unpin(id, names) => {
                let before = existing_group(tree, id)?;
                let after = without_pins(&before, &names.iter().map(String::as_str).collect());
                with_edit_metadata(before, after, now_ms)
            }
        }
    }
}

impl EditDecision {
    fn new(before: Option<Arc<ClassifierGroup>>, after: Option<ClassifierGroup>) -> Self {
        Self { before, after }
    }

    pub(crate) fn is_change(&self) -> bool {
        self.before.as_deref() != self.after.as_ref()
    }

    /// Refuses an editor who lacks a required permission.
    pub(crate) fn check(
        &self,
        tree: &NodeGroupTree,
        editor: &dyn GroupEditor,
    ) -> Result<(), EditError> {
        let after = self.after.as_ref();
        let parent = after.and_then(|after| tree.group(after.parent));
        let environment = parent.map(|parent| parent.environment.as_str());
        for need in required_permissions(self.before.as_deref(), after, environment) {
            let allowed = need
                .any_of
                .iter()
                .any(|right| has_right(tree, editor, *right, need.on));
            if !allowed {
                return Err(EditError::NotPermitted {
                    right: need.any_of[0],
                    group: need.on,
                });
            }
        }
        Ok(())
    }
}

/// Returns `true` if the permission was granted on a group or an ancestor of it.
pub(crate) fn has_right(
    tree: &NodeGroupTree,
    editor: &dyn GroupEditor,
    right: NodeGroupRight,
    on: GroupId,
) -> bool {
    let above = tree.ancestors(on).unwrap_or_default();
    std::iter::once(on)
        .chain(above)
        .any(|group| editor.has_direct_right(right, group))
}

/// The group without these pinned nodes.
pub(crate) fn without_pins(group: &ClassifierGroup, names: &HashSet<&str>) -> ClassifierGroup {
    let mut after = group.clone();
    after.rule = after.rule.and_then(|rule| rule.unpin(names));
    after
}

/// The edited group with an increased serial number, unless nothing changed.
pub(crate) fn with_edit_metadata(
    before: Arc<ClassifierGroup>,
    mut after: ClassifierGroup,
    now_ms: i64,
) -> Result<EditDecision, EditError> {
    if after.id == GroupId::ROOT && after.rule != before.rule {
        return Err(EditError::RootRule);
    }
    if after.id == GroupId::ROOT && after.parent != GroupId::ROOT {
        return Err(EditError::RootStays);
    }
    if after != *before {
        after.serial_number = before.serial_number.saturating_add(1);
        after.last_edited_ms = now_ms;
    }
    Ok(EditDecision::new(Some(before), Some(after)))
}

fn decide_put(
    tree: &NodeGroupTree,
    id: GroupId,
    input: GroupInput,
    now_ms: i64,
) -> Result<EditDecision, EditError> {
    check_id(input.id, id)?;
    let Some(before) = tree.group(id).cloned() else {
        return Ok(EditDecision::new(None, Some(input.into_group(id, now_ms))));
    };
    check_serial(input.serial_number, &before)?;
    let after = ClassifierGroup {
        last_edited_ms: before.last_edited_ms,
        serial_number: before.serial_number,
        ..input.into_group(id, now_ms)
    };
    with_edit_metadata(before, after, now_ms)
}

fn existing_group(tree: &NodeGroupTree, id: GroupId) -> Result<Arc<ClassifierGroup>, EditError> {
    let group = tree.group(id).cloned();
    group.ok_or(EditError::Unknown(crate::UnknownGroup(id)))
}

fn check_id(submitted: Option<GroupId>, addressed: GroupId) -> Result<(), EditError> {
    match submitted.filter(|submitted| *submitted != addressed) {
        None => Ok(()),
        Some(submitted) => Err(EditError::ConflictingIds {
            submitted,
            addressed,
        }),
    }
}

fn check_serial(given: Option<i64>, group: &ClassifierGroup) -> Result<(), EditError> {
    let current = group.serial_number;
    match given.filter(|given| *given != current) {
        None => Ok(()),
        Some(given) => Err(EditError::Serial { given, current }),
    }
}
