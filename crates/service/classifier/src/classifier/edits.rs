//! Edits of groups: executed one after another, and committed before they are visible.
//!
//! Invariants: an edit is decided on the tree that it replaces, so that permissions and serial
//! numbers are checked against the current state; a caller that stops waiting does not stop the
//! write; after a failed write the groups are read again, because it is unknown which changes were
//! stored.

use std::collections::HashSet;
use std::sync::Arc;
use store::now_ms;

use super::{Classifier, ClassifierInner, rows};
use crate::edit::{self, EditDecision, EditError, GroupEdit, with_edit_metadata};
use crate::group::{ClassifierGroup, GroupDelta, GroupId, GroupInput};
use crate::rights::GroupEditor;
use crate::tree::{HierarchyError, NodeGroupTree};
use crate::{NodeGroupRight, NodeGroupRule};

/// The result of an edit of one group.
#[derive(Clone, Debug)]
pub struct EditedGroup {
    /// The group after the edit; `None` if it was deleted.
    pub group: Option<Arc<ClassifierGroup>>,
    /// The group before the edit; `None` if it is new.
    pub before: Option<Arc<ClassifierGroup>>,
}

/// A node, and the groups that it was unpinned from.
#[derive(Clone, Debug)]
pub struct UnpinResult {
    /// Certname of the node.
    pub certname: String,
    /// The groups after the edit.
    pub groups: Vec<Arc<ClassifierGroup>>,
}

/// The changes that will be written, and the result for the caller.
struct EditPlan<T> {
    groups: Vec<Arc<ClassifierGroup>>,
    change: StoreChange,
    result: T,
}

enum StoreChange {
    Nothing,
    Insert(Box<ClassifierGroup>),
    /// The changed groups, each with its serial number before the change.
    Update(Vec<(ClassifierGroup, i64)>),
    Delete(GroupId, i64),
    Replace(Vec<ClassifierGroup>),
}

// === impl Classifier ===

impl Classifier {
    /// Creates a group, with the id of the input or a new one.
    ///
    /// # Errors
    /// The edit is refused for a reason of [`EditError`].
    pub async fn create(
        &self,
        input: GroupInput,
        editor: impl GroupEditor,
    ) -> Result<EditedGroup, EditError> {
        self.edit(GroupEdit::Create(input), editor).await
    }

    /// Creates or replaces the group that the input describes.
    ///
    /// # Errors
    /// The edit is refused for a reason of [`EditError`].
    pub async fn put(
        &self,
        id: GroupId,
        input: GroupInput,
        editor: impl GroupEditor,
    ) -> Result<EditedGroup, EditError> {
        self.edit(GroupEdit::Put(id, input), editor).await
    }

    /// Changes parts of a group.
    ///
    /// # Errors
    /// The edit is refused for a reason of [`EditError`].
    pub async fn update(
        &self,
        id: GroupId,
        delta: GroupDelta,
        editor: impl GroupEditor,
    ) -> Result<EditedGroup, EditError> {
        self.edit(GroupEdit::Update(id, delta), editor).await
    }

    /// Deletes a group without children.
    ///
    /// # Errors
    /// The edit is refused for a reason of [`EditError`].
    pub async fn delete(
        &self,
        id: GroupId,
        editor: impl GroupEditor,
    ) -> Result<EditedGroup, EditError> {
        self.edit(GroupEdit::Delete(id), editor).await
    }

    /// Pins nodes to a group.
    ///
    /// # Errors
    /// The edit is refused for a reason of [`EditError`].
    pub async fn pin(
        &self,
        id: GroupId,
        nodes: Vec<String>,
        editor: impl GroupEditor,
    ) -> Result<EditedGroup, EditError> {
        self.edit(GroupEdit::Pin(id, nodes), editor).await
    }

    /// Removes pins of nodes from a group; nodes that are not pinned are ignored.
    ///
    /// # Errors
    /// The edit is refused for a reason of [`EditError`].
    pub async fn unpin(
        &self,
        id: GroupId,
        nodes: Vec<String>,
        editor: impl GroupEditor,
    ) -> Result<EditedGroup, EditError> {
        self.edit(GroupEdit::Unpin(id, nodes), editor).await
    }

    /// Removes the pins of nodes from every group whose rule the editor may edit.
    ///
    /// # Errors
    /// The edit is refused for a reason of [`EditError`].
    pub async fn unpin_from_all(
        &self,
        nodes: Vec<String>,
        editor: impl GroupEditor,
    ) -> Result<Vec<UnpinResult>, EditError> {
        self.write(move |tree| unpin_from_all(tree, &nodes, &editor))
            .await
    }

    /// Replaces all groups by these.
    ///
    /// # Errors
    /// The edit is refused for a reason of [`EditError`]; the editor needs every permission on the
    /// root group.
    pub async fn import(
        &self,
        groups: Vec<ClassifierGroup>,
        editor: impl GroupEditor,
    ) -> Result<(), EditError> {
        self.write(move |tree| import(tree, groups, &editor)).await
    }

    /// Checks that a group could be created or replaced with this input; writes nothing.
    ///
    /// # Errors
    /// The edit is refused for a reason of [`EditError`].
    pub async fn validate(&self, input: GroupInput) -> Result<ClassifierGroup, EditError> {
        let tree = self.inner.tree.load_full();
        let checked = tokio::task::spawn_blocking(move || {
            let decision = GroupEdit::Create(input).decide(&tree, now_ms())?;
            let EditPlan {
                groups,
                result: answer,
                ..
            } = plan_edit(&tree, decision);
            NodeGroupTree::build(groups, Some(&tree))?;
            Ok::<_, EditError>(answer)
        });
        let group = checked.await??.group;
        group
            .map(|group| ClassifierGroup::clone(&group))
            .ok_or(EditError::Stale)
    }

    async fn edit(
        &self,
        edit: GroupEdit,
        editor: impl GroupEditor,
    ) -> Result<EditedGroup, EditError> {
        self.write(move |tree| {
            let decision = edit.decide(tree, now_ms())?;
            decision.check(tree, &editor)?;
            Ok(plan_edit(tree, decision))
        })
        .await
    }

    async fn write<T: Send + 'static>(
        &self,
        decide: impl FnOnce(&NodeGroupTree) -> Result<EditPlan<T>, EditError> + Send + 'static,
    ) -> Result<T, EditError> {
        let inner = Arc::clone(&self.inner);
        tokio::spawn(async move { inner.write(decide).await }).await?
    }
}

// === impl ClassifierInner ===

impl ClassifierInner {
    async fn write<T: Send + 'static>(
        &self,
        decide: impl FnOnce(&NodeGroupTree) -> Result<EditPlan<T>, EditError> + Send + 'static,
    ) -> Result<T, EditError> {
        let _turn = self.edit_lock.lock().await;
        let before = self.tree.load_full();
        let decided = tokio::task::spawn_blocking(move || {
            let EditPlan {
                groups,
                change,
                result: answer,
            } = decide(&before)?;
            if matches!(change, StoreChange::Nothing) {
                return Ok((None, answer));
            }
            let tree = NodeGroupTree::build(groups, Some(&before))
                .map_err(|error| to_edit_error(&change, error))?;
            Ok::<_, EditError>((Some((tree, change)), answer))
        });
        let (change, answer) = decided.await??;
        let Some((tree, change)) = change else {
            return Ok(answer);
        };
        match self.commit(change).await {
            Ok(()) => {
                self.tree.store(Arc::new(tree));
                Ok(answer)
            }
            Err(error) => {
                self.reload().await?;
                Err(error)
            }
        }
    }

    async fn commit(&self, change: StoreChange) -> Result<(), EditError> {
        let written = match change {
            StoreChange::Nothing => true,
            StoreChange::Insert(group) => {
                self.store.insert_node_group(rows::to_row(&group)).await?;
                true
            }
            StoreChange::Update(groups) => {
                let rows = groups
                    .iter()
                    .map(|(group, serial)| (rows::to_row(group), *serial));
                let written = self.store.update_node_groups(rows.collect()).await?;
                written.into_iter().all(|written| written)
            }
            StoreChange::Delete(id, serial) => {
                self.store
                    .delete_node_group(&id.to_string(), serial)
                    .await?
            }
            StoreChange::Replace(groups) => {
                let rows = groups.iter().map(rows::to_row).collect();
                self.store.replace_node_groups(rows).await?;
                true
            }
        };
        written.then_some(()).ok_or(EditError::Stale)
    }

    async fn reload(&self) -> Result<(), EditError> {
        let groups = self.store.node_groups().await?;
        let groups = rows::from_rows(groups)?;
        let tree =
            tokio::task::spawn_blocking(move || NodeGroupTree::build(groups, None)).await??;
        self.tree.store(Arc::new(tree));
        Ok(())
    }
}

/// The groups to write for a decision.
fn plan_edit(tree: &NodeGroupTree, decision: EditDecision) -> EditPlan<EditedGroup> {
    let changes = decision.is_change();
    let EditDecision { before, after } = decision;
    let id = before.as_ref().map(|before| before.id);
    let stay = tree.groups().filter(|group| Some(group.id) != id).cloned();
    let after_shared = after.clone().map(Arc::new);
    let groups = stay.chain(after_shared.clone()).collect();
    let change = match (&before, after) {
        _ if !changes => StoreChange::Nothing,
        (None, Some(after)) => StoreChange::Insert(Box::new(after)),
        (Some(before), Some(after)) => StoreChange::Update(vec![(after, before.serial_number)]),
        (Some(before), None) => StoreChange::Delete(before.id, before.serial_number),
        (None, None) => StoreChange::Nothing,
    };
    let answer = EditedGroup {
        group: after_shared,
        before,
    };
    EditPlan {
        groups,
        change,
        result: answer,
    }
}

fn unpin_from_all(
    tree: &NodeGroupTree,
    nodes: &[String],
    editor: &dyn GroupEditor,
) -> Result<EditPlan<Vec<UnpinResult>>, EditError> {
    let names: HashSet<_> = nodes.iter().map(String::as_str).collect();
    let mut changes = Vec::new();
    let mut groups = Vec::with_capacity(tree.len());
    let mut answer: Vec<_> = nodes
        .iter()
        .map(|certname| UnpinResult {
            certname: certname.clone(),
            groups: Vec::new(),
        })
        .collect();
    for group in tree.groups() {
        let pinned: HashSet<_> = group
            .rule
            .iter()
            .flat_map(NodeGroupRule::pinned_names)
            .collect();
        let concerned = pinned.iter().any(|name| names.contains(name));
        if !concerned
            || !edit::has_right(tree, editor, NodeGroupRight::EditChildRules, group.parent)
        {
            groups.push(Arc::clone(group));
            continue;
        }
        let after = edit::without_pins(group, &names);
        let Some(after) = with_edit_metadata(Arc::clone(group), after, now_ms())?.after else {
            continue;
        };
        let shared = Arc::new(after.clone());
        for node in &mut answer {
            if pinned.contains(node.certname.as_str()) {
                node.groups.push(Arc::clone(&shared));
            }
        }
        groups.push(shared);
        changes.push((after, group.serial_number));
    }
    let change = if changes.is_empty() {
        StoreChange::Nothing
    } else {
        StoreChange::Update(changes)
    };
    Ok(EditPlan {
        groups,
        change,
        result: answer,
    })
}

fn import(
    tree: &NodeGroupTree,
    groups: Vec<ClassifierGroup>,
    editor: &dyn GroupEditor,
) -> Result<EditPlan<()>, EditError> {
    let missing = NodeGroupRight::ALL
        .iter()
        .find(|right| !editor.has_direct_right(**right, GroupId::ROOT));
    if let Some(right) = missing {
        return Err(EditError::NotPermitted {
            right: *right,
            group: GroupId::ROOT,
        });
    }
    let groups: Vec<_> = groups
        .into_iter()
        .map(|mut group| {
            if let Some(before) = tree.group(group.id) {
                // A new serial number shows clients with the old group that it has been replaced.
                let next = before.serial_number.saturating_add(1);
                group.serial_number = group.serial_number.max(next);
            }
            if group.id == GroupId::ROOT && group.rule.is_none() {
                group.rule = Some(NodeGroupRule::match_all());
            }
            group
        })
        .collect();
    Ok(EditPlan {
        groups: groups.iter().cloned().map(Arc::new).collect(),
        change: StoreChange::Replace(groups),
        result: (),
    })
}

/// In an import, a missing parent is a group that the dump itself lacks.
fn to_edit_error(change: &StoreChange, error: HierarchyError) -> EditError {
    match (change, error) {
        (StoreChange::Replace(groups), HierarchyError::MissingParent { .. }) => {
            EditError::Unreachable {
                names: unreachable_groups(groups),
            }
        }
        (_, error) => error.into(),
    }
}

/// The names of groups whose parent is missing.
fn unreachable_groups(groups: &[ClassifierGroup]) -> Vec<String> {
    let ids: HashSet<_> = groups.iter().map(|group| group.id).collect();
    let lost = groups.iter().filter(|group| !ids.contains(&group.parent));
    lost.map(|group| group.name.clone()).collect()
}
