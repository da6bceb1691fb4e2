//! Groups of differences between the catalogs of many nodes: by cause ([`CauseGroups`]) and by equal
//! sets of changes ([`ChangeGroups`]).
//!
//! Invariant: the groups depend on the outcomes and their order in the list of nodes, not on the order
//! in which they are added; a group keeps the values of one example.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value as Json;

use crate::comparison::CatalogDifference;
use crate::many_nodes::{NodeOutcome, without_node};

/// Kind of a difference, which many nodes may have in common. Errors come first in the order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DifferenceCause {
    /// The second compiler gave no answer, for this reason.
    NoAnswer(String),
    /// Only the first compilation fails, with this message.
    FirstFailed(String),
    /// Only the second compilation fails, with this message.
    SecondFailed(String),
    /// Both fail, with these messages.
    BothFailed(String, String),
    /// Resources of this type are only in the first catalog.
    Removed(String),
    /// Resources of this type are only in the second catalog.
    Added(String),
    /// This attribute of resources of this type differs.
    Changed(String, String),
    /// Edges that only one catalog has, between resources that both have.
    Edges,
}

/// The first example of a difference.
#[derive(Debug, Clone, PartialEq)]
pub struct DifferenceExample {
    pub certname: String,
    /// Reference to the resource, text of the edge, or empty for errors.
    pub subject: String,
    /// Values in the first and in the second catalog; `null` for other differences than changes.
    pub values: (Json, Json),
}

/// Differences of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct CauseGroup {
    /// Number of nodes that have a difference of this kind.
    pub nodes: usize,
    pub example: DifferenceExample,
    /// Position of the example's node in the list of nodes.
    index: usize,
}

/// Differences of many nodes by their kinds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CauseGroups {
    /// Number of nodes whose catalogs are equal.
    pub equal: usize,
    /// Number of nodes with a difference.
    pub different: usize,
    /// Number of nodes for which the second compiler gave no answer.
    pub without_answer: usize,
    groups: BTreeMap<DifferenceCause, CauseGroup>,
}

impl CauseGroups {
    /// Adds the outcome of a node, which is at `index` in the list of nodes.
    pub fn add(&mut self, index: usize, certname: &str, outcome: &NodeOutcome) {
        match outcome {
            NodeOutcome::Equal => self.equal += 1,
            NodeOutcome::NoAnswer(_) => self.without_answer += 1,
            _ => self.different += 1,
        }
        for (cause, subject, values) in first_of_each_cause(outcome) {
            let group = || CauseGroup {
                nodes: 0,
                example: DifferenceExample {
                    certname: certname.to_owned(),
                    subject,
                    values,
                },
                index,
            };
            let present = self.groups.get_mut(&cause);
            match present {
                Some(present) if present.index <= index => present.nodes += 1,
                Some(present) => {
                    *present = CauseGroup {
                        nodes: present.nodes + 1,
                        ..group()
                    };
                }
                None => {
                    let group = CauseGroup {
                        nodes: 1,
                        ..group()
                    };
                    self.groups.insert(cause, group);
                }
            }
        }
    }

    /// The groups: errors first, then by number of nodes.
    #[must_use]
    pub fn sorted(&self) -> Vec<(&DifferenceCause, &CauseGroup)> {
        let mut sorted: Vec<_> = self.groups.iter().collect();
        sorted.sort_by_key(|(cause, group)| (!cause.is_error(), std::cmp::Reverse(group.nodes)));
        sorted
    }
}

impl DifferenceCause {
    /// True if there is no catalog of one side.
    #[must_use]
    pub fn is_error(&self) -> bool {
        match self {
            Self::NoAnswer(_)
            | Self::FirstFailed(_)
            | Self::SecondFailed(_)
            | Self::BothFailed(..) => true,
            Self::Removed(_) | Self::Added(_) | Self::Changed(..) | Self::Edges => false,
        }
    }
}

type FoundDifference = (DifferenceCause, String, (Json, Json));

/// The first difference of each kind of a node.
fn first_of_each_cause(outcome: &NodeOutcome) -> Vec<FoundDifference> {
    let none = || (Json::Null, Json::Null);
    let error = |cause| vec![(cause, String::new(), none())];
    let difference = match outcome {
        NodeOutcome::Equal => return Vec::new(),
        NodeOutcome::NoAnswer(reason) => {
            return error(DifferenceCause::NoAnswer(reason.clone()));
        }
        NodeOutcome::FirstFailed(message) => {
            return error(DifferenceCause::FirstFailed(
                without_node(message).to_owned(),
            ));
        }
        NodeOutcome::SecondFailed(message) => {
            return error(DifferenceCause::SecondFailed(
                without_node(message).to_owned(),
            ));
        }
        NodeOutcome::BothFailed(first, second) => {
            let (first, second) = (without_node(first), without_node(second));
            return error(DifferenceCause::BothFailed(
                first.to_owned(),
                second.to_owned(),
            ));
        }
        NodeOutcome::Different(difference) => difference,
    };
    let mut found: BTreeMap<DifferenceCause, (String, (Json, Json))> = BTreeMap::new();
    let mut add = |cause, subject: &str, values: (Json, Json)| {
        found
            .entry(cause)
            .or_insert_with(|| (subject.to_owned(), values));
    };
    for reference in &difference.removed {
        add(
            DifferenceCause::Removed(type_of(reference)),
            reference,
            none(),
        );
    }
    for reference in &difference.added {
        add(
            DifferenceCause::Added(type_of(reference)),
            reference,
            none(),
        );
    }
    for resource in &difference.changed {
        for (name, before, after) in &resource.attributes {
            let cause = DifferenceCause::Changed(type_of(&resource.reference), name.clone());
            add(cause, &resource.reference, (before.clone(), after.clone()));
        }
    }
    for edge in own_edges(difference) {
        add(DifferenceCause::Edges, edge, none());
    }
    found
        .into_iter()
        .map(|(cause, (subject, values))| (cause, subject, values))
        .collect()
}

/// The type of a reference such as `File[/etc/motd]`.
fn type_of(reference: &str) -> String {
    let name = reference.split_once('[').map_or(reference, |it| it.0);
    name.to_owned()
}

/// The edges that no added or removed resource explains.
fn own_edges(difference: &CatalogDifference) -> impl Iterator<Item = &String> {
    let resources = difference.added.iter().chain(&difference.removed);
    let gone: HashSet<&str> = resources.map(String::as_str).collect();
    difference.edges.iter().filter(move |edge| {
        let ends = edge.get(2..).and_then(|it| it.split_once(" -> "));
        !ends.is_some_and(|(source, target)| gone.contains(source) || gone.contains(target))
    })
}

/// Nodes that have the same set of changes.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeGroup {
    /// Lines such as `~ File[/etc/motd] content` and `+ Package[ntp]`, or the error of one side.
    pub changes: Vec<String>,
    /// True if only one side has a catalog, or both fail in different ways.
    pub is_error: bool,
    /// Certnames in the order of the list of nodes.
    pub nodes: Vec<String>,
}

/// Nodes by their sets of changes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChangeGroups {
    /// Number of nodes whose catalogs are equal.
    pub equal: usize,
    groups: BTreeMap<(bool, Vec<String>), BTreeMap<usize, String>>,
}

impl ChangeGroups {
    /// Adds the outcome of a node, which is at `index` in the list of nodes.
    pub fn add(&mut self, index: usize, certname: &str, outcome: &NodeOutcome) {
        if *outcome == NodeOutcome::Equal {
            self.equal += 1;
            return;
        }
        let is_change = matches!(outcome, NodeOutcome::Different(_));
        let key = (is_change, change_lines(outcome));
        let nodes = self.groups.entry(key).or_default();
        nodes.insert(index, certname.to_owned());
    }

    /// The groups: errors first, then by number of nodes.
    #[must_use]
    pub fn sorted(&self) -> Vec<ChangeGroup> {
        let groups = self.groups.iter();
        let mut sorted: Vec<ChangeGroup> = groups
            .map(|((is_change, changes), nodes)| ChangeGroup {
                changes: changes.clone(),
                is_error: !is_change,
                nodes: nodes.values().cloned().collect(),
            })
            .collect();
        sorted.sort_by_key(|group| (!group.is_error, std::cmp::Reverse(group.nodes.len())));
        sorted
    }
}

fn change_lines(outcome: &NodeOutcome) -> Vec<String> {
    let difference = match outcome {
        NodeOutcome::Equal => return Vec::new(),
        NodeOutcome::FirstFailed(message) => {
            return vec![format!("no longer fails: {}", without_node(message))];
        }
        NodeOutcome::SecondFailed(message) => {
            return vec![format!("fails: {}", without_node(message))];
        }
        NodeOutcome::BothFailed(first, second) => {
            let (first, second) = (without_node(first), without_node(second));
            return vec![format!("failed: {first}"), format!("fails: {second}")];
        }
        NodeOutcome::NoAnswer(reason) => return vec![reason.clone()],
        NodeOutcome::Different(difference) => difference,
    };
    let changed = difference.changed.iter().map(|resource| {
        let names: Vec<&str> = resource.attributes.iter().map(|it| it.0.as_str()).collect();
        format!("~ {} {}", resource.reference, names.join(", "))
    });
    let removed = difference.removed.iter().map(|it| format!("- {it}"));
    let added = difference.added.iter().map(|it| format!("+ {it}"));
    let edges = own_edges(difference).cloned();
    // Each kind is sorted, because the order of resources is no difference.
    let kinds: [Vec<String>; 4] = [
        changed.collect(),
        removed.collect(),
        added.collect(),
        edges.collect(),
    ];
    let mut lines = Vec::new();
    for mut kind in kinds {
        kind.sort_unstable();
        lines.append(&mut kind);
    }
    lines
}

#[cfg(test)]
#[path = "grouping_tests.rs"]
mod tests;
