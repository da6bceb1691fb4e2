//! Collects the values of all groups of a node, before they are checked for conflicts. Main type:
//! [`MergedValues`].

use std::collections::BTreeMap;

use serde_json::Value;

use super::NodeGroupTree;
use super::inherited_values::{SourcedClasses, SourcedParameters};

/// A value that one group sets.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupValue<'a> {
    pub(super) value: &'a Value,
    /// Index of the leaf group.
    pub(super) leaf: usize,
    /// Index of the group that defines the value: the leaf group or an ancestor of it.
    pub(super) defined_by: usize,
}

/// All values that groups set for one setting; never empty.
pub(super) type GroupValues<'a> = Vec<GroupValue<'a>>;
pub(super) type MergedParameters<'a> = BTreeMap<&'a str, GroupValues<'a>>;

#[derive(Debug, Default)]
pub(super) struct MergedClass<'a> {
    /// Indices of the groups that declare the class.
    pub(super) sources: Vec<usize>,
    pub(super) parameters: MergedParameters<'a>,
}

pub(super) type MergedClasses<'a> = BTreeMap<&'a str, MergedClass<'a>>;

#[derive(Debug, Default)]
pub(super) struct MergedValues<'a> {
    /// Leaf groups and their environments; if some of them trump, only those.
    pub(super) environment: Vec<(usize, &'a str)>,
    pub(super) classes: MergedClasses<'a>,
    pub(super) config_data: MergedClasses<'a>,
    pub(super) variables: MergedParameters<'a>,
}

impl<'a> MergedValues<'a> {
    pub(super) fn new(tree: &'a NodeGroupTree, leaves: &[usize]) -> Self {
        let mut merged = Self {
            environment: effective_environments(tree, leaves),
            ..Self::default()
        };
        for leaf in leaves {
            let inherited = &tree.entries[*leaf].inherited;
            add_classes(&mut merged.classes, &inherited.classes, *leaf);
            add_classes(&mut merged.config_data, &inherited.config_data, *leaf);
            add_parameters(&mut merged.variables, &inherited.variables, *leaf);
        }
        merged
    }
}

fn effective_environments<'a>(tree: &'a NodeGroupTree, leaves: &[usize]) -> Vec<(usize, &'a str)> {
    let of = |leaf: &usize| {
        let inherited = &tree.entries[*leaf].inherited;
        (inherited.environment_trumps, *leaf, &*inherited.environment)
    };
    let all: Vec<_> = leaves.iter().map(of).collect();
    let any_trumps = all.iter().any(|(trumps, ..)| *trumps);
    let counts = all
        .into_iter()
        .filter(|(trumps, ..)| *trumps || !any_trumps);
    counts.map(|(_, leaf, name)| (leaf, name)).collect()
}

fn add_classes<'a>(merged: &mut MergedClasses<'a>, classes: &'a SourcedClasses, from: usize) {
    for (name, class) in classes {
        let into = merged.entry(name).or_default();
        if !into.sources.contains(&class.defined_by) {
            into.sources.push(class.defined_by);
        }
        add_parameters(&mut into.parameters, &class.parameters, from);
    }
}

fn add_parameters<'a>(
    merged: &mut MergedParameters<'a>,
    parameters: &'a SourcedParameters,
    from: usize,
) {
    for (name, sourced) in parameters {
        merged.entry(name).or_default().push(GroupValue {
            value: &sourced.value,
            leaf: from,
            defined_by: sourced.defined_by,
        });
    }
}

/// Returns `true` if all values are equal.
pub(super) fn are_equal(words: &[GroupValue<'_>]) -> bool {
    words.windows(2).all(|pair| pair[0].value == pair[1].value)
}
