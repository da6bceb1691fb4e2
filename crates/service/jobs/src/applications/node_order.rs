//! The order of a job's nodes: [`NodeOrder`].
//!
//! Invariant: it has no cycle, a node stands behind all nodes that it waits for, and nodes without such a relation
//! keep the order that they were given in.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::fmt;

use environments::EnvironmentName;
use pcp::Certname;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{EnvironmentApplications, RunPass};
use crate::defaults::CYCLE_NODES_NAMED;

/// The nodes of a job in an order in which they can run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeOrder {
    nodes: Vec<Certname>,
    /// For each node, the indices of those that it waits for, ascending.
    predecessors: Vec<BTreeSet<usize>>,
    /// For each node, the capabilities that other nodes of the job consume from it, or those of a later pass.
    products: Vec<BTreeSet<String>>,
    /// The nodes that wait for those of an earlier pass.
    late: BTreeSet<usize>,
}

/// A capability that a node produces for other nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeProduct {
    /// Node that produces it.
    pub node: Certname,
    /// Reference such as `Sql[app1]`.
    pub capability: String,
}

/// Nodes that wait for each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct DependencyCycle {
    /// Each node with the capability that the next one consumes; the last one's consumer is the first.
    pub path: Vec<NodeProduct>,
    /// The components on them wait for each other too, so that passes do not help.
    pub is_of_components: bool,
}

/// A [`NodeOrder`] as it is sealed in the row of its job: only nodes that others wait for, or that wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredNodeOrder {
    /// Name of the environment whose applications order the nodes.
    pub(crate) environment: String,
    pub(crate) nodes: Vec<Certname>,
    /// `[first, then]` as indices of nodes.
    pub(crate) edges: Vec<[usize; 2]>,
    /// Capabilities that the node with this index produces for other nodes of the job.
    pub(crate) products: BTreeMap<usize, BTreeSet<String>>,
    /// The lease that keeps other runs from starting on these nodes; `None` in jobs of older servers.
    #[serde(default)]
    pub(crate) lease: Option<Uuid>,
    /// Nodes that run in a later pass. They are held as well, and stay so for its job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) later: Vec<Certname>,
    /// Nodes on which the run did not succeed stay held.
    #[serde(default)]
    pub(crate) has_quarantine: bool,
}

/// The waits between nodes before they are ordered, by index.
struct NodeWaits<'a> {
    /// For each node, those that wait for it, with a capability that they consume from it.
    consumers: Vec<BTreeMap<usize, &'a str>>,
    products: Vec<BTreeSet<&'a str>>,
}

// === impl NodeOrder ===

impl NodeOrder {
    /// Orders these nodes, of which each occurs once, by what the components on them consume. Nodes that are not
    /// named are not waited for: what they produce is there, or it is missing in the catalog of the consumer.
    ///
    /// # Errors
    /// Nodes wait for each other.
    pub fn new(
        applications: &EnvironmentApplications,
        nodes: Vec<Certname>,
    ) -> Result<Self, DependencyCycle> {
        let waits = NodeWaits::new(applications, &nodes);
        let order = waits.order().map_err(|open| waits.cycle(&open, &nodes))?;
        let mut places = vec![0; nodes.len()];
        for (place, index) in order.iter().enumerate() {
            places[*index] = place;
        }
        let mut predecessors = vec![BTreeSet::new(); nodes.len()];
        for (first, consumers) in waits.consumers.iter().enumerate() {
            for then in consumers.keys() {
                predecessors[places[*then]].insert(places[first]);
            }
        }
        let owned = |names: &BTreeSet<&str>| names.iter().map(|it| (*it).to_owned()).collect();
        let products = order.iter().map(|index| owned(&waits.products[*index]));
        Ok(Self {
            products: products.collect(),
            predecessors,
            nodes: order.iter().map(|index| nodes[*index].clone()).collect(),
            late: BTreeSet::new(),
        })
    }

    /// The order of a pass. Its nodes wait for one another as it says; those of earlier passes have succeeded.
    pub(crate) fn of_pass(pass: &RunPass) -> Self {
        let names = pass.nodes.iter().map(|run| &run.node);
        let indices: HashMap<&Certname, usize> = names.zip(0..).collect();
        let mut order = Self::default();
        for (index, run) in pass.nodes.iter().enumerate() {
            if !run.after.is_empty() {
                order.late.insert(index);
            }
            order.nodes.push(run.node.clone());
            let waits_for = run.waits_for.iter();
            let first = waits_for.filter_map(|node| indices.get(node).copied());
            // a stored pass may be damaged, and no node waits for a later one
            let first = first.filter(|first| *first < index);
            order.predecessors.push(first.collect());
            order.products.push(run.products.iter().cloned().collect());
        }
        order
    }

    /// The nodes in this order.
    pub fn nodes(&self) -> &[Certname] {
        &self.nodes
    }

    /// For each node, the nodes that it waits for.
    pub fn predecessors(&self) -> impl Iterator<Item = (&Certname, Vec<&Certname>)> {
        let waited = self.nodes.iter().zip(&self.predecessors);
        waited.map(|(node, first)| (node, first.iter().map(|it| &self.nodes[*it]).collect()))
    }

    /// The number of each node's level: a node of level 0 waits for none, and any other for one of the level
    /// before.
    pub fn levels(&self) -> Vec<usize> {
        let mut levels: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for predecessors in &self.predecessors {
            let before = predecessors.iter().map(|it| levels[*it] + 1).max();
            levels.push(before.unwrap_or_default());
        }
        levels
    }

    /// The order to be stored, of nodes that run in this environment; `None` if no node waits for another, in this pass
    /// or in others.
    pub(crate) fn to_stored(&self, environment: &EnvironmentName) -> Option<StoredNodeOrder> {
        let mut named = self.late.clone();
        let products = self.products.iter().enumerate();
        named.extend(products.filter(|(_, it)| !it.is_empty()).map(|it| it.0));
        for (then, predecessors) in self.predecessors.iter().enumerate() {
            if !predecessors.is_empty() {
                named.insert(then);
                named.extend(predecessors);
            }
        }
        if named.is_empty() {
            return None;
        }
        let places: HashMap<usize, usize> = named.iter().copied().zip(0..).collect();
        let mut stored = StoredNodeOrder {
            environment: environment.to_string(),
            lease: Some(Uuid::new_v4()),
            ..StoredNodeOrder::default()
        };
        for index in named {
            let then = places[&index];
            stored.nodes.push(self.nodes[index].clone());
            let predecessors = self.predecessors[index].iter();
            stored
                .edges
                .extend(predecessors.map(|first| [places[first], then]));
            if !self.products[index].is_empty() {
                stored.products.insert(then, self.products[index].clone());
            }
        }
        Some(stored)
    }
}

// === impl NodeWaits ===

impl<'a> NodeWaits<'a> {
    fn new(applications: &'a EnvironmentApplications, nodes: &[Certname]) -> Self {
        let indices: HashMap<&Certname, usize> = nodes.iter().zip(0..).collect();
        let mut producers: HashMap<&str, usize> = HashMap::new();
        for component in applications.components() {
            let Some(node) = indices.get(&component.node) else {
                continue;
            };
            producers.extend(component.produces.iter().map(|it| (it.as_str(), *node)));
        }
        let mut waits = Self {
            consumers: vec![BTreeMap::new(); nodes.len()],
            products: vec![BTreeSet::new(); nodes.len()],
        };
        for component in applications.components() {
            let Some(then) = indices.get(&component.node) else {
                continue;
            };
            for capability in &component.consumes {
                // components of one node are ordered within its catalog
                match producers.get(capability.as_str()) {
                    Some(first) if first != then => {
                        waits.consumers[*first].insert(*then, capability);
                        waits.products[*first].insert(capability);
                    }
                    _ => {}
                }
            }
        }
        waits
    }

    /// Indices in an order in which they can run; if nodes wait for each other, the number of nodes that each one
    /// still waits for.
    fn order(&self) -> Result<Vec<usize>, Vec<usize>> {
        let mut open = vec![0_usize; self.consumers.len()];
        for then in self.consumers.iter().flat_map(BTreeMap::keys) {
            open[*then] += 1;
        }
        let free = open.iter().enumerate().filter(|(_, count)| **count == 0);
        let mut free: BinaryHeap<Reverse<usize>> = free.map(|(index, _)| Reverse(index)).collect();
        let mut order = Vec::with_capacity(open.len());
        while let Some(Reverse(first)) = free.pop() {
            order.push(first);
            for then in self.consumers[first].keys() {
                open[*then] -= 1;
                if open[*then] == 0 {
                    free.push(Reverse(*then));
                }
            }
        }
        match order.len() == open.len() {
            true => Ok(order),
            false => Err(open),
        }
    }

    /// A cycle among the nodes that still wait.
    fn cycle(&self, open: &[usize], nodes: &[Certname]) -> DependencyCycle {
        // each waiting node with one of the waiting nodes that it waits for
        let mut first_of: HashMap<usize, (usize, &str)> = HashMap::new();
        for (first, consumers) in self.consumers.iter().enumerate() {
            if open[first] == 0 {
                continue;
            }
            for (then, capability) in consumers {
                first_of.entry(*then).or_insert((first, capability));
            }
        }
        let mut path: Vec<(usize, &str)> = Vec::new();
        let mut places: HashMap<usize, usize> = HashMap::new();
        let mut node = open.iter().position(|count| *count > 0).unwrap_or_default();
        while !places.contains_key(&node) {
            let Some((first, capability)) = first_of.get(&node) else {
                break;
            };
            places.insert(node, path.len());
            path.push((*first, capability));
            node = *first;
        }
        let start = places.get(&node).copied().unwrap_or_default();
        let mut cycle: Vec<NodeProduct> = path[start..]
            .iter()
            .map(|(first, capability)| NodeProduct {
                node: nodes[*first].clone(),
                capability: (*capability).to_owned(),
            })
            .collect();
        cycle.reverse();
        DependencyCycle {
            path: cycle,
            is_of_components: false,
        }
    }
}

impl fmt::Display for DependencyCycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.is_of_components {
            true => "components wait for each other, so no pass can have them: ",
            false => "nodes wait for each other, so no run order exists: ",
        })?;
        for product in self.path.iter().take(CYCLE_NODES_NAMED) {
            write!(f, "{} ({}) -> ", product.node, product.capability)?;
        }
        if self.path.len() > CYCLE_NODES_NAMED {
            write!(f, "… {} more … -> ", self.path.len() - CYCLE_NODES_NAMED)?;
        }
        if let Some(first) = self.path.first() {
            write!(f, "{}", first.node)?;
        }
        f.write_str(match self.is_of_components {
            true => "; change what they consume",
            false => {
                "; run them in passes with --multi-pass (command/multi_pass in the API), or map the components to \
                 other nodes"
            }
        })
    }
}
