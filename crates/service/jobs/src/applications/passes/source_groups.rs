//! Nodes that wait for each other, and for no other nodes: [`find_source_groups`].
//!
//! Invariant: two nodes are in one group exactly if each waits for the other, directly or not.

/// Number of a node that was not reached.
const NEW: usize = usize::MAX;

/// The groups of at least two nodes that wait for no node outside of the group. For each node, `successors` has those
/// that wait for it, which may be named more than once.
///
/// This is Tarjan's algorithm with a list of open nodes of its own, so a chain of any length is no recursion.
pub(super) fn find_source_groups(successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut groups = NodeGroups {
        numbers: vec![NEW; successors.len()],
        lowest: vec![NEW; successors.len()],
        group_of: vec![NEW; successors.len()],
        reached: 0,
        unassigned: Vec::new(),
        groups: Vec::new(),
    };
    for start in 0..successors.len() {
        if groups.numbers[start] == NEW {
            groups.walk(start, successors);
        }
    }
    let mut waits = vec![false; groups.groups.len()];
    for (node, later) in successors.iter().enumerate() {
        for then in later {
            waits[groups.group_of[*then]] |= groups.group_of[node] != groups.group_of[*then];
        }
    }
    let found = groups.groups.into_iter().zip(waits);
    let sources = found.filter(|(group, waits)| !waits && group.len() > 1);
    sources.map(|(group, _)| group).collect()
}

struct NodeGroups {
    /// Numbers of the nodes in the order in which they are reached.
    numbers: Vec<usize>,
    /// The lowest number of an unassigned node that a node leads to.
    lowest: Vec<usize>,
    /// Indices in `groups`.
    group_of: Vec<usize>,
    reached: usize,
    /// Reached nodes without a group.
    unassigned: Vec<usize>,
    groups: Vec<Vec<usize>>,
}

// === impl NodeGroups ===

impl NodeGroups {
    fn walk(&mut self, start: usize, successors: &[Vec<usize>]) {
        // each open node with the number of its successors that were looked at
        let mut open = vec![(start, 0)];
        self.reach(start);
        while let Some((node, looked_at)) = open.last_mut() {
            let node = *node;
            if let Some(then) = successors[node].get(*looked_at).copied() {
                *looked_at += 1;
                if self.numbers[then] == NEW {
                    self.reach(then);
                    open.push((then, 0));
                } else if self.group_of[then] == NEW {
                    self.lowest[node] = self.lowest[node].min(self.numbers[then]);
                }
                continue;
            }
            open.pop();
            if let Some((before, _)) = open.last() {
                self.lowest[*before] = self.lowest[*before].min(self.lowest[node]);
            }
            if self.lowest[node] == self.numbers[node] {
                self.close_group(node);
            }
        }
    }

    fn reach(&mut self, node: usize) {
        self.numbers[node] = self.reached;
        self.lowest[node] = self.reached;
        self.reached += 1;
        self.unassigned.push(node);
    }

    fn close_group(&mut self, first: usize) {
        let start = self.unassigned.iter().rposition(|node| *node == first);
        let group = self.unassigned.split_off(start.unwrap_or_default());
        for node in &group {
            self.group_of[*node] = self.groups.len();
        }
        self.groups.push(group);
    }
}
