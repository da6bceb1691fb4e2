//! Which nodes run again after a wave: [`ConvergenceProgress`]. No I/O and no clock.
//!
//! Invariants: no node is in a wave twice; there are at most as many waves as the options allow; the decision
//! follows only from the runs and the data given, so it is the same when a plan is evaluated again.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use crate::node_run::{NodeRun, RunEnd};
use crate::options::ConvergenceOptions;
use crate::outcome::{ConvergenceOutcome, UnsettledNode};

/// The state of all nodes between two waves.
#[derive(Debug)]
pub struct ConvergenceProgress {
    options: ConvergenceOptions,
    wave: u32,
    nodes: BTreeMap<String, NodeProgress>,
    /// The reasons for which the nodes of the current wave run again; empty in the first.
    reasons: BTreeMap<String, RerunReason>,
}

#[derive(Debug, Default)]
struct NodeProgress {
    /// Runs of Puppet.
    runs: u32,
    /// Fingerprints of the changes of all runs.
    seen: HashSet<[u8; 32]>,
    /// Its last run failed, and did the same as an earlier one.
    is_failing_again: bool,
    state: NodeState,
}

/// The state of a node after its last run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum NodeState {
    #[default]
    Settled,
    /// It changed the same as before.
    Repeating {
        resources: Vec<String>,
    },
    /// The last wave has ended, and it would run again.
    Unfinished {
        reason: RerunReason,
    },
    Failed {
        message: String,
    },
    NotRun {
        message: String,
    },
    Skipped {
        message: String,
        failed: String,
    },
}

/// The reason for which a node runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RerunReason {
    /// Its run requested that.
    Requested,
    /// Data of other nodes changed from which its catalog is compiled.
    ImportedData,
    /// It changed something, and only a run without changes counts.
    Changed,
    /// The node runs again because of which it did not run.
    Skipped,
}

/// The nodes that run again, after a pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextWave {
    /// Number of the wave; the first is 1.
    pub number: u32,
    /// Certnames in alphabetical order.
    pub nodes: Vec<String>,
    /// Time from the end of the wave before to its start.
    pub pause: Duration,
    pub counts: RerunCounts,
}

/// Numbers of nodes of a wave by the reason for which they run again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RerunCounts {
    pub requested: usize,
    pub imported_data: usize,
    pub changed: usize,
    pub skipped: usize,
}

// === impl ConvergenceProgress ===

impl ConvergenceProgress {
    pub fn new(options: ConvergenceOptions) -> Self {
        Self {
            options,
            wave: 0,
            nodes: BTreeMap::new(),
            reasons: BTreeMap::new(),
        }
    }

    /// The nodes that have run so far.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.nodes.keys().map(String::as_str)
    }

    /// Records the end of a wave. `changed_imports` names the nodes whose catalogs were compiled from data of other
    /// nodes that have changed since. Returns the next wave; `None` if there is none.
    pub fn record_wave(
        &mut self,
        runs: Vec<NodeRun>,
        changed_imports: &BTreeSet<String>,
    ) -> Option<NextWave> {
        self.wave += 1;
        let mut reasons = BTreeMap::new();
        let mut pause = self.options.min_gap;
        for run in runs {
            let delta = run.reruns.iter().map(|rerun| rerun.delta).max();
            let certname = run.certname.clone();
            if let Some(reason) = self.record_run(run) {
                pause = pause.max(delta.unwrap_or_default().min(self.options.max_delay));
                reasons.insert(certname, reason);
            }
        }
        for certname in changed_imports {
            let node = self.nodes.get(certname);
            if node.is_some_and(NodeProgress::can_run) {
                reasons.insert(certname.clone(), RerunReason::ImportedData);
            }
        }
        let again: Vec<String> = self
            .nodes
            .iter()
            .filter(|(_, node)| {
                node.skipped_because_of()
                    .is_some_and(|it| reasons.contains_key(it))
            })
            .map(|(certname, _)| certname.clone())
            .collect();
        reasons.extend(
            again
                .into_iter()
                .map(|certname| (certname, RerunReason::Skipped)),
        );
        if self.wave >= self.options.max_waves {
            self.leave_unfinished(reasons);
            return None;
        }
        if reasons.is_empty() {
            return None;
        }
        let next = NextWave {
            number: self.wave + 1,
            nodes: reasons.keys().cloned().collect(),
            pause,
            counts: RerunCounts::of(reasons.values()),
        };
        self.reasons = reasons;
        Some(next)
    }

    /// The result. Nodes that are in a next wave count as settled, so this is called when there is none.
    pub fn into_outcome(self) -> ConvergenceOutcome {
        let mut outcome = ConvergenceOutcome::new(self.wave);
        for (certname, node) in self.nodes {
            outcome.add(certname, node.runs, UnsettledNode::of(node.state));
        }
        outcome
    }

    /// Records a run. Returns the reason for which its node runs again; `None` if it does not.
    fn record_run(&mut self, run: NodeRun) -> Option<RerunReason> {
        let has_new_data = self.reasons.get(&run.certname) == Some(&RerunReason::ImportedData);
        let node = self.nodes.entry(run.certname).or_default();
        let is_changed = matches!(run.end, RunEnd::Succeeded { is_changed: true });
        let reason = if !run.reruns.is_empty() {
            Some(RerunReason::Requested)
        } else if self.options.strict && is_changed {
            Some(RerunReason::Changed)
        } else {
            None
        };
        let is_run = matches!(run.end, RunEnd::Succeeded { .. } | RunEnd::Failed { .. });
        node.runs += u32::from(is_run);
        let is_new = !is_run || node.seen.insert(run.changes.fingerprint);
        node.state = NodeState::after(run.end);
        node.is_failing_again = !is_new && matches!(node.state, NodeState::Failed { .. });
        // With other data a node may do the same again, and reach another state.
        let is_repeating = !is_new && !has_new_data && run.changes.is_complete;
        if is_repeating && reason.is_some() {
            if node.state == NodeState::Settled {
                let resources = run.changes.names;
                node.state = NodeState::Repeating { resources };
            }
            return None;
        }
        reason
    }

    fn leave_unfinished(&mut self, reasons: BTreeMap<String, RerunReason>) {
        for (certname, reason) in reasons {
            if let Some(node) = self.nodes.get_mut(&certname)
                && !matches!(
                    node.state,
                    NodeState::Failed { .. } | NodeState::Skipped { .. }
                )
            {
                node.state = NodeState::Unfinished { reason };
            }
        }
    }
}

// === impl NodeProgress ===

impl NodeProgress {
    /// A node is not tried again because of others if it could not run, since it may be away for good, or if it fails in
    /// the same way with other data: without a new catalog its data would count as changed for ever.
    fn can_run(&self) -> bool {
        !self.is_failing_again && !matches!(self.state, NodeState::NotRun { .. })
    }

    /// The node because of which this one did not run; `None` if there is none.
    fn skipped_because_of(&self) -> Option<&str> {
        match &self.state {
            NodeState::Skipped { failed, .. } => Some(failed),
            _ => None,
        }
    }
}

// === impl NodeState ===

impl NodeState {
    fn after(end: RunEnd) -> Self {
        match end {
            RunEnd::Succeeded { .. } => Self::Settled,
            RunEnd::Failed { message } => Self::Failed { message },
            RunEnd::NotRun { message } => Self::NotRun { message },
            RunEnd::Skipped { message, failed } => Self::Skipped { message, failed },
        }
    }
}

// === impl RerunCounts ===

impl RerunCounts {
    fn of<'a>(reasons: impl Iterator<Item = &'a RerunReason>) -> Self {
        let mut counts = Self::default();
        for reason in reasons {
            let count = match reason {
                RerunReason::Requested => &mut counts.requested,
                RerunReason::ImportedData => &mut counts.imported_data,
                RerunReason::Changed => &mut counts.changed,
                RerunReason::Skipped => &mut counts.skipped,
            };
            *count += 1;
        }
        counts
    }
}
