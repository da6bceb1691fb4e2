//! Planning of one pass after the other: [`PassPlanner`].
//!
//! Nodes run as rarely as that is possible without a search: first all those that can run with all their components; of
//! the rest, only nodes in a cycle that waits for no other one, and of these only those that produce something for it.
//! Invariant: a component is planned once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};

use pcp::Certname;

use super::source_groups::find_source_groups;
use super::{EarlierRun, PassNode, RunPass, WaitingComponent};
use crate::applications::{
    ApplicationComponent, DependencyCycle, EnvironmentApplications, NodeProduct,
};

/// The components that are not planned yet, by index.
pub(super) struct PassPlanner<'a> {
    names: &'a [Certname],
    components: Vec<PlannedComponent<'a>>,
    nodes: Vec<PlannedNode>,
    /// Number of nodes that have no last run yet.
    open_nodes: usize,
    /// Number of the pass that is planned, from 1.
    pass: usize,
}

struct PlannedComponent<'a> {
    reference: &'a str,
    node: usize,
    /// Components that produce for this one, with the capability.
    producers: Vec<(usize, &'a str)>,
    /// Components that consume from this one, with the capability.
    consumers: Vec<(usize, &'a str)>,
    /// Number of producers that are not planned.
    open: usize,
    /// Number of the pass in which the component is compiled for the first time; `None` until it is planned.
    pass: Option<usize>,
}

#[derive(Default)]
struct PlannedNode {
    components: Vec<usize>,
    /// Number of times that its components consume from other nodes' components that are not planned.
    open: usize,
    has_last_run: bool,
}

// === impl PassPlanner ===

impl<'a> PassPlanner<'a> {
    pub(super) fn new(applications: &'a EnvironmentApplications, names: &'a [Certname]) -> Self {
        let indices: HashMap<&Certname, usize> = names.iter().zip(0..).collect();
        let in_job = |it: &'a ApplicationComponent| Some((it, *indices.get(&it.node)?));
        let named: Vec<_> = applications.components().filter_map(in_job).collect();
        let mut producers: HashMap<&str, usize> = HashMap::new();
        for (index, (component, _)) in named.iter().enumerate() {
            producers.extend(component.produces.iter().map(|it| (it.as_str(), index)));
        }
        let mut nodes: Vec<PlannedNode> = names.iter().map(|_| PlannedNode::default()).collect();
        let planned = named.iter().enumerate().map(|(index, (component, node))| {
            nodes[*node].components.push(index);
            let needed = component.consumes.iter();
            let found = needed.filter_map(|it| Some((*producers.get(it.as_str())?, it.as_str())));
            let producers: Vec<_> = found.filter(|(producer, _)| *producer != index).collect();
            PlannedComponent {
                reference: &component.reference,
                node: *node,
                open: producers.len(),
                producers,
                consumers: Vec::new(),
                pass: None,
            }
        });
        let mut components: Vec<_> = planned.collect();
        for consumer in 0..components.len() {
            for (producer, capability) in components[consumer].producers.clone() {
                components[producer].consumers.push((consumer, capability));
                if components[producer].node != components[consumer].node {
                    nodes[components[consumer].node].open += 1;
                }
            }
        }
        Self {
            names,
            components,
            open_nodes: nodes.len(),
            nodes,
            pass: 0,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.open_nodes == 0
    }

    /// The next pass: last runs as far as they go, and then runs of nodes that wait for each other.
    pub(super) fn plan_pass(&mut self) -> Result<RunPass, DependencyCycle> {
        self.pass += 1;
        let mut pass = RunPass {
            nodes: self.plan_last_runs(),
        };
        if !self.is_done() {
            let partial = self.plan_partial_runs()?;
            pass.nodes.extend(partial);
        }
        Ok(pass)
    }

    /// The last runs of all nodes that wait only for those of earlier passes, or for one another without a cycle.
    fn plan_last_runs(&mut self) -> Vec<PassNode> {
        let nodes = self.nodes.iter().enumerate();
        let free = nodes.filter(|(_, node)| !node.has_last_run && node.open == 0);
        let mut free: BinaryHeap<Reverse<usize>> = free.map(|(index, _)| Reverse(index)).collect();
        let mut planned = Vec::new();
        while let Some(Reverse(node)) = free.pop() {
            self.nodes[node].has_last_run = true;
            self.open_nodes -= 1;
            let components = self.open_components(node);
            let (run, released) = self.plan_run(node, &components);
            planned.push(run);
            free.extend(released.into_iter().map(Reverse));
        }
        planned
    }

    /// Runs of nodes in cycles, without the components that are not ready.
    fn plan_partial_runs(&mut self) -> Result<Vec<PassNode>, DependencyCycle> {
        let groups = find_source_groups(&self.open_waits());
        let mut runs = Vec::new();
        for group in &groups {
            let members: BTreeSet<usize> = group.iter().copied().collect();
            let before = runs.len();
            for node in &members {
                let ready = self.ready_components(*node);
                if self.produces_for(&ready, &members) {
                    runs.push((*node, ready));
                }
            }
            if runs.len() == before {
                return Err(self.find_cycle(&members));
            }
        }
        // only now, because a node does not see what others produce in the same pass
        let planned = runs.into_iter();
        Ok(planned
            .map(|(node, ready)| self.plan_run(node, &ready).0)
            .collect())
    }

    /// For each node, those with components that wait for its own.
    fn open_waits(&self) -> Vec<Vec<usize>> {
        let mut waits = vec![Vec::new(); self.nodes.len()];
        for component in self.components.iter().filter(|it| it.pass.is_none()) {
            let consumers = component.consumers.iter();
            let nodes = consumers.map(|(consumer, _)| self.components[*consumer].node);
            waits[component.node].extend(nodes.filter(|node| *node != component.node));
        }
        waits
    }

    fn open_components(&self, node: usize) -> Vec<usize> {
        let components = self.nodes[node].components.iter().copied();
        components
            .filter(|it| self.components[*it].pass.is_none())
            .collect()
    }

    /// The components of a node that wait for no other node, directly or through components of the node.
    fn ready_components(&self, node: usize) -> Vec<usize> {
        let components = self.open_components(node).into_iter();
        let mut open: HashMap<usize, usize> = components
            .map(|it| (it, self.components[it].open))
            .collect();
        let free = open.iter().filter(|(_, count)| **count == 0);
        let mut ready: Vec<usize> = free.map(|(index, _)| *index).collect();
        let mut looked_at = 0;
        while let Some(index) = ready.get(looked_at).copied() {
            looked_at += 1;
            for (consumer, _) in &self.components[index].consumers {
                if let Some(count) = open.get_mut(consumer) {
                    *count -= 1;
                    if *count == 0 {
                        ready.push(*consumer);
                    }
                }
            }
        }
        ready.sort_unstable();
        ready
    }

    /// True if other nodes of the group wait for one of these components.
    fn produces_for(&self, components: &[usize], group: &BTreeSet<usize>) -> bool {
        components.iter().any(|index| {
            let component = &self.components[*index];
            let mut consumers = component.consumers.iter();
            consumers.any(|(consumer, _)| {
                let node = self.components[*consumer].node;
                node != component.node && group.contains(&node)
            })
        })
    }

    /// Plans a run of these components. Returns also the nodes that wait for no other one any more.
    fn plan_run(&mut self, node: usize, components: &[usize]) -> (PassNode, Vec<usize>) {
        // the last pass in which a node produces something for this one
        let mut producers: BTreeMap<usize, usize> = BTreeMap::new();
        let mut products = BTreeSet::new();
        let mut released = Vec::new();
        for index in components {
            self.components[*index].pass = Some(self.pass);
            for (producer, _) in &self.components[*index].producers {
                let producer = &self.components[*producer];
                if producer.node != node {
                    let pass = producers.entry(producer.node).or_default();
                    *pass = (*pass).max(producer.pass.unwrap_or_default());
                }
            }
            for (consumer, capability) in self.components[*index].consumers.clone() {
                let consumer = &mut self.components[consumer];
                consumer.open -= 1;
                if consumer.node == node {
                    continue;
                }
                products.insert(capability.to_owned());
                let consumer = consumer.node;
                self.nodes[consumer].open -= 1;
                if self.nodes[consumer].open == 0 {
                    released.push(consumer);
                }
            }
        }
        let left_out = self.open_components(node).into_iter();
        let left_out = left_out.map(|it| self.waiting_component(it));
        let producers = producers.into_iter();
        let (now, earlier): (Vec<_>, Vec<_>) = producers.partition(|(_, pass)| *pass == self.pass);
        let earlier = earlier.into_iter().map(|(node, pass)| EarlierRun {
            node: self.names[node].clone(),
            pass,
        });
        let run = PassNode {
            node: self.names[node].clone(),
            waits_for: now
                .into_iter()
                .map(|(node, _)| self.names[node].clone())
                .collect(),
            after: earlier.collect(),
            products: products.into_iter().collect(),
            left_out: left_out.collect(),
        };
        (run, released)
    }

    fn waiting_component(&self, index: usize) -> WaitingComponent {
        let component = &self.components[index];
        let mut waiting = WaitingComponent {
            reference: component.reference.to_owned(),
            ..WaitingComponent::default()
        };
        for (producer, capability) in &component.producers {
            let producer = &self.components[*producer];
            if producer.node != component.node {
                waiting.needs.push(NodeProduct {
                    node: self.names[producer.node].clone(),
                    capability: (*capability).to_owned(),
                });
            } else if producer.pass.is_none() {
                waiting.behind.push(producer.reference.to_owned());
            }
        }
        waiting
    }

    /// A cycle of components on nodes of a group that produce nothing for one another: each component that is not ready
    /// waits for another such one.
    fn find_cycle(&self, group: &BTreeSet<usize>) -> DependencyCycle {
        let mut waiting: BTreeSet<usize> = BTreeSet::new();
        for node in group {
            waiting.extend(self.open_components(*node));
            for ready in self.ready_components(*node) {
                waiting.remove(&ready);
            }
        }
        let mut path: Vec<(usize, &str)> = Vec::new();
        let mut positions: HashMap<usize, usize> = HashMap::new();
        let mut component = waiting.first().copied();
        while let Some(index) = component.filter(|it| !positions.contains_key(it)) {
            let mut producers = self.components[index].producers.iter();
            let Some(producer) = producers.find(|(producer, _)| waiting.contains(producer)) else {
                break;
            };
            positions.insert(index, path.len());
            path.push(*producer);
            component = Some(producer.0);
        }
        let start = component.and_then(|it| positions.get(&it).copied());
        let cycle = path[start.unwrap_or_default()..].iter().rev();
        let product = |(producer, capability): &(usize, &str)| NodeProduct {
            node: self.names[self.components[*producer].node].clone(),
            capability: (*capability).to_owned(),
        };
        DependencyCycle {
            path: cycle.map(product).collect(),
            is_of_components: true,
        }
    }
}
