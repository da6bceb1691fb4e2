//! Which nodes run again after a wave: [`ConvergenceProgress`]. No I/O and no clock.
//!
//! Invariants: no node is in a wave twice; there are at most as many waves as the options allow; the decision
//! follows only from the runs and the data given, so it is the same when a plan is evaluated again.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use crate::defaults::IDLE_IMPORTS;
use crate::node_run::{NodeRun, RunEnd};
use crate::node_state::{NodeState, RerunReason};
use crate::options::ConvergenceOptions;
use crate::outcome::{ConvergenceOutcome, UnsettledNode};
use crate::rerun_budget::RerunCandidate;

/// The state of all nodes between two waves.
#[derive(Debug)]
pub struct ConvergenceProgress {
    options: ConvergenceOptions,
    wave: u32,
    nodes: BTreeMap<String, NodeProgress>,
    /// The reasons for which the nodes of the current wave run again; empty in the first.
    reasons: BTreeMap<String, RerunReason>,
    /// Nodes of which it is not known whether data of other nodes have changed since the last wave.
    unknown_imports: BTreeSet<String>,
}

/// The end of a wave, and the data that are compared after it.
#[derive(Debug, Default)]
pub struct EndedWave {
    pub runs: Vec<NodeRun>,
    /// Nodes whose catalogs were compiled from data of other nodes that have changed since.
    pub changed_imports: BTreeSet<String>,
    /// Nodes of which that is not known.
    pub unknown_imports: BTreeSet<String>,
    /// True if the job was stopped, or ended because too many nodes failed.
    pub is_halted: bool,
}

/// A node between two waves.
#[derive(Debug, Default)]
struct NodeProgress {
    /// Number of its runs of Puppet.
    runs: u32,
    /// Fingerprints of all runs.
    seen: HashSet<[u8; 32]>,
    /// Its last run failed, and did the same as an earlier one.
    is_failing_again: bool,
    /// Runs in a row with changed data of other nodes that changed nothing.
    idle_imports: u32,
    /// Longest pause that its last run requested.
    delta: Duration,
    /// It had no rerun left, and does not run again in this job.
    is_left_out: bool,
    state: NodeState,
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
            unknown_imports: BTreeSet::new(),
        }
    }

    /// The nodes that have run so far.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.nodes.keys().map(String::as_str)
    }

    /// Records the end of a wave. Returns the next wave; `None` if there is none.
    pub fn record_wave(&mut self, wave: EndedWave) -> Option<NextWave> {
        self.wave += 1;
        let mut reasons = BTreeMap::new();
        for run in wave.runs {
            let certname = run.certname.clone();
            if let Some(reason) = self.record_run(run) {
                reasons.insert(certname, reason);
            }
        }
        for certname in &wave.changed_imports {
            let node = self.nodes.get(certname);
            if node.is_some_and(NodeProgress::can_run) {
                reasons.insert(certname.clone(), RerunReason::ImportedData);
            }
        }
        for certname in self.released_nodes(&reasons) {
            reasons.insert(certname, RerunReason::Skipped);
        }
        self.unknown_imports = wave.unknown_imports;
        if reasons.is_empty() {
            self.leave_unknown();
            return None;
        }
        if wave.is_halted || self.wave >= self.options.max_waves {
            self.leave_unfinished(reasons);
            return None;
        }
        let deltas = reasons
            .keys()
            .filter_map(|it| self.nodes.get(it))
            .map(|node| node.delta);
        let longest = deltas.max().unwrap_or_default().min(self.options.max_delay);
        let next = NextWave {
            number: self.wave + 1,
            nodes: reasons.keys().cloned().collect(),
            pause: longest.max(self.options.min_gap),
            counts: RerunCounts::of(reasons.values()),
        };
        self.reasons = reasons;
        Some(next)
    }

    /// The nodes of the next wave, for the budget of reruns.
    pub fn candidates(&self) -> Vec<RerunCandidate> {
        let candidates = self.reasons.iter().map(|(certname, reason)| {
            let node = self.nodes.get(certname);
            let waits_for = node.and_then(NodeProgress::skipped_because_of);
            RerunCandidate {
                certname: certname.clone(),
                waits_for: waits_for
                    .filter(|_| *reason == RerunReason::Skipped)
                    .map(str::to_owned),
            }
        });
        candidates.collect()
    }

    /// Leaves nodes out of the next wave, and of all later ones, for these reasons. Returns the rest of the wave; `None` if
    /// no node is left.
    pub fn leave_out(
        &mut self,
        next: NextWave,
        left_out: BTreeMap<String, String>,
    ) -> Option<NextWave> {
        for (certname, reason) in left_out {
            self.reasons.remove(&certname);
            if let Some(node) = self.nodes.get_mut(&certname) {
                node.leave_out(reason);
            }
        }
        if self.reasons.is_empty() {
            self.leave_unknown();
            return None;
        }
        Some(NextWave {
            nodes: self.reasons.keys().cloned().collect(),
            counts: RerunCounts::of(self.reasons.values()),
            ..next
        })
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
        let is_unchanged = matches!(run.end, RunEnd::Succeeded { is_changed: false });
        let reason = if !run.reruns.is_empty() {
            Some(RerunReason::Requested)
        } else if self.options.strict && is_changed {
            Some(RerunReason::Changed)
        } else {
            None
        };
        let is_run = is_changed || is_unchanged || matches!(run.end, RunEnd::Failed { .. });
        node.runs += u32::from(is_run);
        node.delta = run
            .reruns
            .iter()
            .map(|rerun| rerun.delta)
            .max()
            .unwrap_or_default();
        node.idle_imports = match has_new_data && is_unchanged && reason.is_none() {
            true => node.idle_imports + 1,
            false => 0,
        };
        let is_known = !node.seen.insert(run.changes.fingerprint) && run.changes.is_complete;
        node.state = NodeState::after(run.end);
        node.is_failing_again = is_known && matches!(node.state, NodeState::Failed { .. });
        // With other data a node may do the same again, and reach another state.
        if is_known && !has_new_data && reason.is_some() {
            if node.state == NodeState::Settled {
                let resources = run.changes.names;
                node.state = NodeState::Repeating { resources };
            }
            return None;
        }
        reason
    }

    /// The nodes that were skipped because of a node that runs again.
    fn released_nodes(&self, reasons: &BTreeMap<String, RerunReason>) -> Vec<String> {
        let is_released = |node: &NodeProgress| {
            let failed = node.skipped_because_of();
            !node.is_left_out && failed.is_some_and(|failed| reasons.contains_key(failed))
        };
        let released = self.nodes.iter().filter(|(_, node)| is_released(node));
        released.map(|(certname, _)| certname.clone()).collect()
    }

    fn leave_unfinished(&mut self, reasons: BTreeMap<String, RerunReason>) {
        for (certname, reason) in reasons {
            if let Some(node) = self.nodes.get_mut(&certname)
                && node.state == NodeState::Settled
            {
                node.state = NodeState::Unfinished { reason };
            }
        }
    }

    fn leave_unknown(&mut self) {
        for certname in std::mem::take(&mut self.unknown_imports) {
            if let Some(node) = self.nodes.get_mut(&certname)
                && node.state == NodeState::Settled
            {
                node.state = NodeState::UnknownImports;
            }
        }
    }
}

// === impl NodeProgress ===

impl NodeProgress {
    /// True if the node runs again because of data of other nodes. It does not if it
    /// - could not run, since it may be away for good;
    /// - was skipped, since it would run without the node that it waits for;
    /// - fails in the same way with other data: without a new catalog its data would count as changed for ever;
    /// - changes nothing with other data, again and again, as with a query whose result always differs;
    /// - was left out of a wave, since it had no rerun.
    fn can_run(&self) -> bool {
        let is_run = !matches!(
            self.state,
            NodeState::NotRun { .. } | NodeState::Skipped { .. }
        );
        let is_tired = self.is_failing_again || self.idle_imports >= IDLE_IMPORTS;
        is_run && !is_tired && !self.is_left_out
    }

    fn leave_out(&mut self, reason: String) {
        self.is_left_out = true;
        self.state = std::mem::take(&mut self.state).without_rerun(reason);
    }

    /// The node because of which this one did not run; `None` if there is none.
    fn skipped_because_of(&self) -> Option<&str> {
        match &self.state {
            NodeState::Skipped { failed, .. } => Some(failed),
            _ => None,
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
