//! Classifies a node: [`NodeGroupTree::classify`].
//!
//! The algorithm: a node belongs to the groups whose rule and whose ancestors' rules match; a
//! group without a rule has no nodes and does not restrict its children; of these groups, the
//! ancestors of others are left out; the inherited values of the remaining leaves are merged; a
//! trumping environment overrides the others; two leaves with different values for the same
//! setting are a conflict, which is never resolved by a guess.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use pcp::Certname;
use serde::Serialize;
use serde_json::{Value, json};

use super::NodeGroupTree;
use super::merge::{GroupValue, MergedClasses, MergedParameters, MergedValues, are_equal};
use crate::ClassifiedNode;
use crate::group::{AGENT_SPECIFIED, GroupClasses, GroupId, GroupParameters};

/// The classification of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeClassification {
    /// Every group that the node belongs to, sorted by name.
    pub groups: Vec<GroupRef>,
    /// Name of the environment; `None` if the agent chooses it and its choice is unknown.
    pub environment: Option<String>,
    /// `true` if the agent chooses the environment.
    pub agent_specified: bool,
    /// Classes with the parameters that groups set.
    pub classes: GroupClasses,
    /// Top-scope variables by name.
    pub parameters: GroupParameters,
    /// Parameters for classes that are declared outside of the groups.
    pub config_data: GroupClasses,
}

/// A group's id and name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupRef {
    /// Id of the group.
    pub id: GroupId,
    /// Name of the group.
    pub name: String,
}

/// One of the values in a conflict, with its origin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConflictClaim {
    /// The value that the group sets.
    pub value: Value,
    /// The leaf group that the node belongs to.
    pub from: GroupRef,
    /// The group that defines the value: the leaf group, or an ancestor of it.
    pub defined_by: GroupRef,
}

/// The conflicting values of a node's groups. Settings without a conflict are absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupConflict {
    /// Certname of the node.
    #[serde(skip)]
    pub certname: Certname,
    /// Conflicting environments; empty if there is no conflict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<ConflictClaim>,
    /// Conflicting values of variables, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Vec<ConflictClaim>>,
    /// Conflicting parameters, by class and parameter name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<String, BTreeMap<String, Vec<ConflictClaim>>>,
    /// Conflicting configuration data, by class and parameter name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub config_data: BTreeMap<String, BTreeMap<String, Vec<ConflictClaim>>>,
}

/// Name of the environment in the list of conflicting values.
const ENVIRONMENT: &str = "the environment";

// === impl NodeGroupTree ===

impl NodeGroupTree {
    /// The classification of a node.
    pub(crate) fn classify(
        &self,
        node: &(impl ClassifiedNode + ?Sized),
    ) -> Result<NodeClassification, Box<GroupConflict>> {
        let members = self.matching_members(node);
        let merged = MergedValues::new(self, &self.leaf_members(&members));
        self.resolve_conflicts(node, &members, &merged)
    }

    /// Indices of the groups that a node belongs to, parents first.
    pub(super) fn matching_members(&self, node: &(impl ClassifiedNode + ?Sized)) -> Vec<usize> {
        let mut members = Vec::new();
        let mut next = vec![0];
        while let Some(at) = next.pop() {
            let entry = &self.entries[at];
            match &entry.compiled {
                Some(rule) if !rule.matches(node) => continue,
                Some(_) => members.push(at),
                None => {}
            }
            next.extend(&entry.children);
        }
        members.sort_unstable();
        members
    }

    /// The members that are not ancestors of other members.
    pub(super) fn leaf_members(&self, members: &[usize]) -> Vec<usize> {
        let above: HashSet<_> = members
            .iter()
            .flat_map(|at| self.ancestor_indexes(*at))
            .collect();
        let leaves = members.iter().filter(|at| !above.contains(at));
        leaves.copied().collect()
    }

    pub(super) fn resolve_conflicts(
        &self,
        node: &(impl ClassifiedNode + ?Sized),
        members: &[usize],
        merged: &MergedValues<'_>,
    ) -> Result<NodeClassification, Box<GroupConflict>> {
        let conflict = GroupConflict {
            certname: node.certname().clone(),
            environment: self.conflicting_environments(merged),
            variables: self.conflicting_parameters(&merged.variables),
            classes: self.conflicting_classes(&merged.classes),
            config_data: self.conflicting_classes(&merged.config_data),
        };
        if !conflict.is_empty() {
            return Err(Box::new(conflict));
        }
        let environment = merged.environment.first().map(|(_, name)| *name);
        let agent_specified = environment == Some(AGENT_SPECIFIED);
        let environment = match environment {
            Some(name) if !agent_specified => Some(name.to_owned()),
            _ => node.requested_environment().map(str::to_owned),
        };
        Ok(NodeClassification {
            groups: self.refs_by_name(members),
            environment,
            agent_specified,
            classes: agreed_classes(&merged.classes),
            parameters: agreed_parameters(&merged.variables),
            config_data: agreed_classes(&merged.config_data),
        })
    }

    pub(super) fn group_ref(&self, at: usize) -> GroupRef {
        let group = &self.entries[at].group;
        GroupRef {
            id: group.id,
            name: group.name.clone(),
        }
    }

    fn refs_by_name(&self, members: &[usize]) -> Vec<GroupRef> {
        let mut groups: Vec<_> = members.iter().map(|at| self.group_ref(*at)).collect();
        groups.sort_by(|one, other| (&one.name, one.id).cmp(&(&other.name, other.id)));
        groups
    }

    fn conflicting_environments(&self, merged: &MergedValues<'_>) -> Vec<ConflictClaim> {
        let same = merged
            .environment
            .windows(2)
            .all(|pair| pair[0].1 == pair[1].1);
        if same {
            return Vec::new();
        }
        let claim = |(from, name): &(usize, &str)| ConflictClaim {
            value: json!(name),
            from: self.group_ref(*from),
            defined_by: self.group_ref(*from),
        };
        merged.environment.iter().map(claim).collect()
    }

    fn conflicting_parameters(
        &self,
        parameters: &MergedParameters<'_>,
    ) -> BTreeMap<String, Vec<ConflictClaim>> {
        let claim = |word: &GroupValue<'_>| ConflictClaim {
            value: word.value.clone(),
            from: self.group_ref(word.leaf),
            defined_by: self.group_ref(word.defined_by),
        };
        let different = parameters.iter().filter(|(_, words)| !are_equal(words));
        different
            .map(|(name, words)| ((*name).to_owned(), words.iter().map(claim).collect()))
            .collect()
    }

    fn conflicting_classes(
        &self,
        classes: &MergedClasses<'_>,
    ) -> BTreeMap<String, BTreeMap<String, Vec<ConflictClaim>>> {
        let of = classes.iter().map(|(name, class)| {
            (
                (*name).to_owned(),
                self.conflicting_parameters(&class.parameters),
            )
        });
        of.filter(|(_, parameters)| !parameters.is_empty())
            .collect()
    }
}

fn agreed_parameters(parameters: &MergedParameters<'_>) -> GroupParameters {
    let first = parameters
        .iter()
        .filter_map(|(name, words)| Some(((*name).to_owned(), words.first()?.value.clone())));
    first.collect()
}

fn agreed_classes(classes: &MergedClasses<'_>) -> GroupClasses {
    let each = classes.iter();
    each.map(|(name, class)| ((*name).to_owned(), agreed_parameters(&class.parameters)))
        .collect()
}

// === impl GroupConflict ===

impl GroupConflict {
    fn is_empty(&self) -> bool {
        self.environment.is_empty()
            && self.variables.is_empty()
            && self.classes.is_empty()
            && self.config_data.is_empty()
    }

    /// Every conflicting setting, under a name for error messages.
    fn labelled_claims(&self) -> Vec<(String, &[ConflictClaim])> {
        let mut all: Vec<(String, &[ConflictClaim])> = Vec::new();
        if !self.environment.is_empty() {
            all.push((ENVIRONMENT.to_owned(), &self.environment));
        }
        for (name, claims) in &self.variables {
            all.push((format!("the variable {name}"), claims));
        }
        for (what, classes) in [
            ("", &self.classes),
            ("the configuration data ", &self.config_data),
        ] {
            for (class, parameters) in classes {
                for (name, claims) in parameters {
                    all.push((format!("{what}{class}[{name}]"), claims));
                }
            }
        }
        all
    }

    /// The conflicting settings and their groups. Values may be secrets, so this text is for logs
    /// and for readers without access to the classifier; environments are named.
    pub fn describe_without_values(&self) -> String {
        self.describe(|what, claim| match what {
            ENVIRONMENT => format!("{} by {:?}", claim.value, claim.defined_by.name),
            _ => format!("by {:?}", claim.defined_by.name),
        })
    }

    fn describe(&self, tell: impl Fn(&str, &ConflictClaim) -> String) -> String {
        /// Maximum number in the message, to keep it readable; the details have all.
        const SHOWN: usize = 5;
        let values = self.labelled_claims();
        let shown = values.iter().take(SHOWN).map(|(what, claims)| {
            let claims = claims.iter().map(|claim| tell(what, claim));
            let claims: Vec<_> = claims.collect();
            format!("; {what}: {}", claims.join(", "))
        });
        let more = match values.len() {
            ..=SHOWN => String::new(),
            count => format!("; and {} more", count - SHOWN),
        };
        let shown: String = shown.collect();
        format!("the groups of {} do not agree{shown}{more}", self.certname)
    }
}

impl fmt::Display for GroupConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told =
            self.describe(|_, claim| format!("{} by {:?}", claim.value, claim.defined_by.name));
        f.write_str(&told)
    }
}

impl std::error::Error for GroupConflict {}
