//! Classifies a node: [`Tree::classify`].
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

use super::Tree;
use super::merge::{Merged, MergedClasses, MergedParameters, Word, agree};
use crate::Subject;
use crate::group::{AGENT_SPECIFIED, Classes, GroupId, Parameters};

/// The classification of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Classification {
    /// Every group that the node belongs to, sorted by name.
    pub groups: Vec<GroupRef>,
    /// Name of the environment; `None` if the agent chooses it and its choice is unknown.
    pub environment: Option<String>,
    /// `true` if the agent chooses the environment.
    pub agent_specified: bool,
    /// Classes with the parameters that groups set.
    pub classes: Classes,
    /// Top-scope variables by name.
    pub parameters: Parameters,
    /// Parameters for classes that are declared outside of the groups.
    pub config_data: Classes,
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
pub struct Claim {
    /// The value that the group sets.
    pub value: Value,
    /// The leaf group that the node belongs to.
    pub from: GroupRef,
    /// The group that defines the value: the leaf group, or an ancestor of it.
    pub defined_by: GroupRef,
}

/// The conflicting values of a node's groups. Settings without a conflict are absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Conflict {
    /// Certname of the node.
    #[serde(skip)]
    pub certname: Certname,
    /// Conflicting environments; empty if there is no conflict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<Claim>,
    /// Conflicting values of variables, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Vec<Claim>>,
    /// Conflicting parameters, by class and parameter name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<String, BTreeMap<String, Vec<Claim>>>,
    /// Conflicting configuration data, by class and parameter name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub config_data: BTreeMap<String, BTreeMap<String, Vec<Claim>>>,
}

/// Name of the environment in the list of conflicting values.
const ENVIRONMENT: &str = "the environment";

// === impl Tree ===

impl Tree {
    /// The classification of a node.
    pub(crate) fn classify(
        &self,
        node: &(impl Subject + ?Sized),
    ) -> Result<Classification, Box<Conflict>> {
        let members = self.members(node);
        let merged = Merged::new(self, &self.leaves(&members));
        self.decide(node, &members, &merged)
    }

    /// Indices of the groups that a node belongs to, parents first.
    pub(super) fn members(&self, node: &(impl Subject + ?Sized)) -> Vec<usize> {
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
    pub(super) fn leaves(&self, members: &[usize]) -> Vec<usize> {
        let above: HashSet<_> = members.iter().flat_map(|at| self.above(*at)).collect();
        let leaves = members.iter().filter(|at| !above.contains(at));
        leaves.copied().collect()
    }

    pub(super) fn decide(
        &self,
        node: &(impl Subject + ?Sized),
        members: &[usize],
        merged: &Merged<'_>,
    ) -> Result<Classification, Box<Conflict>> {
        let conflict = Conflict {
            certname: node.certname().clone(),
            environment: self.different_environments(merged),
            variables: self.different(&merged.variables),
            classes: self.different_classes(&merged.classes),
            config_data: self.different_classes(&merged.config_data),
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
        Ok(Classification {
            groups: self.by_name(members),
            environment,
            agent_specified,
            classes: agreed_classes(&merged.classes),
            parameters: agreed(&merged.variables),
            config_data: agreed_classes(&merged.config_data),
        })
    }

    pub(super) fn reference(&self, at: usize) -> GroupRef {
        let group = &self.entries[at].group;
        GroupRef {
            id: group.id,
            name: group.name.clone(),
        }
    }

    fn by_name(&self, members: &[usize]) -> Vec<GroupRef> {
        let mut groups: Vec<_> = members.iter().map(|at| self.reference(*at)).collect();
        groups.sort_by(|one, other| (&one.name, one.id).cmp(&(&other.name, other.id)));
        groups
    }

    fn different_environments(&self, merged: &Merged<'_>) -> Vec<Claim> {
        let same = merged
            .environment
            .windows(2)
            .all(|pair| pair[0].1 == pair[1].1);
        if same {
            return Vec::new();
        }
        let claim = |(from, name): &(usize, &str)| Claim {
            value: json!(name),
            from: self.reference(*from),
            defined_by: self.reference(*from),
        };
        merged.environment.iter().map(claim).collect()
    }

    fn different(&self, parameters: &MergedParameters<'_>) -> BTreeMap<String, Vec<Claim>> {
        let claim = |word: &Word<'_>| Claim {
            value: word.value.clone(),
            from: self.reference(word.from),
            defined_by: self.reference(word.defined_by),
        };
        let different = parameters.iter().filter(|(_, words)| !agree(words));
        different
            .map(|(name, words)| ((*name).to_owned(), words.iter().map(claim).collect()))
            .collect()
    }

    fn different_classes(
        &self,
        classes: &MergedClasses<'_>,
    ) -> BTreeMap<String, BTreeMap<String, Vec<Claim>>> {
        let of = classes
            .iter()
            .map(|(name, class)| ((*name).to_owned(), self.different(&class.parameters)));
        of.filter(|(_, parameters)| !parameters.is_empty())
            .collect()
    }
}

fn agreed(parameters: &MergedParameters<'_>) -> Parameters {
    let first = parameters
        .iter()
        .filter_map(|(name, words)| Some(((*name).to_owned(), words.first()?.value.clone())));
    first.collect()
}

fn agreed_classes(classes: &MergedClasses<'_>) -> Classes {
    let each = classes.iter();
    each.map(|(name, class)| ((*name).to_owned(), agreed(&class.parameters)))
        .collect()
}

// === impl Conflict ===

impl Conflict {
    fn is_empty(&self) -> bool {
        self.environment.is_empty()
            && self.variables.is_empty()
            && self.classes.is_empty()
            && self.config_data.is_empty()
    }

    /// Every conflicting setting, under a name for error messages.
    fn values(&self) -> Vec<(String, &[Claim])> {
        let mut all: Vec<(String, &[Claim])> = Vec::new();
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
    pub fn without_values(&self) -> String {
        self.told(|what, claim| match what {
            ENVIRONMENT => format!("{} by {:?}", claim.value, claim.defined_by.name),
            _ => format!("by {:?}", claim.defined_by.name),
        })
    }

    fn told(&self, tell: impl Fn(&str, &Claim) -> String) -> String {
        /// Maximum number in the message, to keep it readable; the details have all.
        const SHOWN: usize = 5;
        let values = self.values();
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

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = self.told(|_, claim| format!("{} by {:?}", claim.value, claim.defined_by.name));
        f.write_str(&told)
    }
}

impl std::error::Error for Conflict {}
