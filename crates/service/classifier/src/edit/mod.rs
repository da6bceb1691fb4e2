//! Computes the effect of an edit on the groups before anything is written. Main types: [`Edit`],
//! [`EditError`].
//!
//! Invariant: a decision is a pure function of the tree. It returns the group before and after the
//! edit, or the reason for a refusal.

mod error;

use std::collections::HashSet;
use std::sync::Arc;

use crate::defaults::RULE_CONDITIONS;
use crate::group::{Group, GroupDelta, GroupId, GroupInput};
use crate::rights::{Editor, needs};
use crate::tree::Tree;
use crate::{Right, Rule};

pub use error::EditError;

/// One edit of one group.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
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
pub(crate) struct Decision {
    pub(crate) before: Option<Arc<Group>>,
    pub(crate) after: Option<Group>,
}

impl Edit {
    pub(crate) fn decide(self, tree: &Tree, now_ms: i64) -> Result<Decision, EditError> {
        match self {
            Self::Create(input) => {
                let id = input.id.unwrap_or_else(GroupId::random);
                match tree.group(id) {
                    Some(_) => put(tree, id, input, now_ms),
                    None => Ok(Decision::new(None, Some(input.into_group(id, now_ms)))),
                }
            }
            Self::Put(id, input) => put(tree, id, input, now_ms),
            Self::Update(id, delta) => {
                let before = known(tree, id)?;
                check_id(delta.id, id)?;
                check_serial(delta.serial_number, &before)?;
                let after = delta.apply(Group::clone(&before));
                edited(before, after, now_ms)
            }
            Self::Delete(id) => {
                let before = known(tree, id)?;
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
                Ok(Decision::new(Some(before), None))
            }
            Self::Pin(id, names) => {
                let before = known(tree, id)?;
                let mut after = Group::clone(&before);
                let pinned = after.rule.as_ref().map_or(0, |rule| rule.pinned().len());
                if pinned + names.len() > RULE_CONDITIONS / 2 {
                    return Err(EditError::TooManyPins);
                }
                after.rule = Some(Rule::pin(after.rule, &names));
                edited(before, after, now_ms)
            }
            Self::Unpin(id, names) => {
                let before = known(tree, id)?;
                let after = unpinned(&before, &names.iter().map(String::as_str).collect());
                edited(before, after, now_ms)
            }
        }
    }
}

impl Decision {
    fn new(before: Option<Arc<Group>>, after: Option<Group>) -> Self {
        Self { before, after }
    }

    pub(crate) fn is_change(&self) -> bool {
        self.before.as_deref() != self.after.as_ref()
    }

    /// Refuses an editor who lacks a required permission.
    pub(crate) fn check(&self, tree: &Tree, editor: &dyn Editor) -> Result<(), EditError> {
        let after = self.after.as_ref();
        let parent = after.and_then(|after| tree.group(after.parent));
        let environment = parent.map(|parent| parent.environment.as_str());
        for need in needs(self.before.as_deref(), after, environment) {
            let allowed = need
                .any_of
                .iter()
                .any(|right| may(tree, editor, *right, need.on));
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
pub(crate) fn may(tree: &Tree, editor: &dyn Editor, right: Right, on: GroupId) -> bool {
    let above = tree.ancestors(on).unwrap_or_default();
    std::iter::once(on)
        .chain(above)
        .any(|group| editor.may(right, group))
}

/// The group without these pinned nodes.
pub(crate) fn unpinned(group: &Group, names: &HashSet<&str>) -> Group {
    let mut after = group.clone();
    after.rule = after.rule.and_then(|rule| rule.unpin(names));
    after
}

/// The edited group with an increased serial number, unless nothing changed.
pub(crate) fn edited(
    before: Arc<Group>,
    mut after: Group,
    now_ms: i64,
) -> Result<Decision, EditError> {
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
    Ok(Decision::new(Some(before), Some(after)))
}

fn put(tree: &Tree, id: GroupId, input: GroupInput, now_ms: i64) -> Result<Decision, EditError> {
    check_id(input.id, id)?;
    let Some(before) = tree.group(id).cloned() else {
        return Ok(Decision::new(None, Some(input.into_group(id, now_ms))));
    };
    check_serial(input.serial_number, &before)?;
    let after = Group {
        last_edited_ms: before.last_edited_ms,
        serial_number: before.serial_number,
        ..input.into_group(id, now_ms)
    };
    edited(before, after, now_ms)
}

fn known(tree: &Tree, id: GroupId) -> Result<Arc<Group>, EditError> {
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

fn check_serial(given: Option<i64>, group: &Group) -> Result<(), EditError> {
    let current = group.serial_number;
    match given.filter(|given| *given != current) {
        None => Ok(()),
        Some(given) => Err(EditError::Serial { given, current }),
    }
}
