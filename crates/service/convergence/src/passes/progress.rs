//! The decisions between passes: [`PassProgress`]. No I/O.
//!
//! Invariants: a pass keeps its planned order; a node without success runs in no later pass; and a node is skipped with
//! the node whose run did not succeed as the reason, not with one that was skipped itself.

use std::collections::{BTreeMap, BTreeSet};
use std::vec::IntoIter;

use jobs::{KIND_DEPENDENCY, KIND_STOPPED, KIND_UNKNOWN, PassLease, PassNode, RunPass, RunPasses};
use pcp::Certname;
use serde_json::{Value, json};
use uuid::Uuid;

use super::outcome::{MultiPassOutcome, MultiPassState, UnsuccessfulNode};
use crate::node_run::{NodeRun, RunEnd};

/// The nodes of all passes, and what became of them.
#[derive(Debug)]
pub struct PassProgress {
    open: IntoIter<RunPass>,
    /// The lease of all passes; `None`: each has one of its own.
    lease: Option<Uuid>,
    /// Number of the last pass that was taken.
    number: u32,
    nodes: BTreeMap<String, NodeProgress>,
    /// The nodes of the pass that runs.
    running: BTreeSet<String>,
}

/// A pass that runs next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextPass {
    /// Number of the pass as planned, from 1.
    pub number: u32,
    /// The runs that are left of the planned ones; at least one.
    pub pass: RunPass,
    /// The lease that it shares with other passes.
    pub lease: Option<PassLease>,
}

#[derive(Debug, Default)]
struct NodeProgress {
    /// Number of runs of Puppet.
    runs: u32,
    /// `None` as long as all runs succeeded.
    unsuccessful: Option<UnsuccessfulNode>,
    /// Kind of the error of a node that does not run any more although its last run, if there was one, succeeded.
    left_with: Option<&'static str>,
}

// === impl PassProgress ===

impl PassProgress {
    /// Progress before the first pass.
    pub fn new(planned: RunPasses) -> Self {
        let RunPasses { passes, lease } = planned;
        let runs = passes.iter().flat_map(|pass| &pass.nodes);
        let nodes = runs.map(|run| (run.node.to_string(), NodeProgress::default()));
        Self {
            nodes: nodes.collect(),
            lease,
            number: 0,
            running: BTreeSet::new(),
            open: passes.into_iter(),
        }
    }

    /// The next pass, with the nodes that can take part; `None` if there is none.
    pub fn next_pass(&mut self) -> Option<NextPass> {
        loop {
            let mut pass = self.open.next()?;
            self.number += 1;
            pass.nodes.retain(|run| self.can_run(run));
            if !pass.nodes.is_empty() {
                let names = pass.nodes.iter().map(|run| run.node.to_string());
                self.running = names.collect();
                return Some(NextPass {
                    number: self.number,
                    lease: self.lease.map(|id| PassLease {
                        id,
                        later: self.later_nodes(),
                    }),
                    pass,
                });
            }
        }
    }

    /// The nodes that may run after the pass that was taken.
    fn later_nodes(&self) -> Vec<Certname> {
        let runs = self.open.as_slice().iter().flat_map(|pass| &pass.nodes);
        let nodes: BTreeSet<&Certname> = runs.map(|run| &run.node).collect();
        let nodes = nodes.into_iter();
        let open = nodes.filter(|node| self.unsuccessful(node).is_none());
        open.cloned().collect()
    }

    /// True if a planned run takes place. Records it otherwise.
    fn can_run(&mut self, run: &PassNode) -> bool {
        if self.unsuccessful(&run.node).is_some() {
            return false;
        }
        let mut now = run.waits_for.iter();
        let in_pass = now.find_map(|it| Some((it, self.unsuccessful(it)?)));
        let mut earlier = run.after.iter();
        let cause = in_pass.or_else(|| {
            earlier.find_map(|it| Some((&it.node, self.lost_product(&it.node, it.pass)?)))
        });
        let Some((waits_for, cause)) = cause else {
            return true;
        };
        let failed = cause.failed.clone();
        let failed = failed.unwrap_or_else(|| waits_for.to_string());
        let reason = format!("it waits for {waits_for}, and the run on {failed} did not succeed");
        let skipped = UnsuccessfulNode::skipped(self.number, reason, failed);
        let node = self.nodes.entry(run.node.to_string()).or_default();
        node.unsuccessful = Some(skipped);
        node.left_with = Some(KIND_DEPENDENCY);
        false
    }

    fn unsuccessful(&self, node: &Certname) -> Option<&UnsuccessfulNode> {
        self.nodes.get(node.as_str())?.unsuccessful.as_ref()
    }

    /// The reason that what a node produced in a pass does not count: that run, or one before it, did not succeed, or a
    /// later run of the node failed, which may be due to any of its components.
    fn lost_product(&self, node: &Certname, pass: usize) -> Option<&UnsuccessfulNode> {
        self.unsuccessful(node).filter(|it| {
            it.state == MultiPassState::Failed
                || usize::try_from(it.pass).is_ok_and(|at| at <= pass)
        })
    }

    /// Records the end of the pass that ran. If it is halted, no further pass runs.
    pub fn record_pass(&mut self, runs: Vec<NodeRun>, is_halted: bool) {
        let mut missing = std::mem::take(&mut self.running);
        for run in runs {
            missing.remove(&run.certname);
            let is_run = matches!(run.end, RunEnd::Succeeded { .. } | RunEnd::Failed { .. });
            let node = self.nodes.entry(run.certname).or_default();
            node.runs += u32::from(is_run);
            node.unsuccessful = UnsuccessfulNode::after(self.number, run.end);
        }
        for name in missing {
            let reason = "its run has no result".to_owned();
            self.leave(&name, reason, KIND_UNKNOWN);
        }
        if is_halted {
            let open: Vec<RunPass> = self.open.by_ref().collect();
            for run in open.iter().flat_map(|pass| &pass.nodes) {
                let reason = format!("the job of pass {} was ended early", self.number);
                self.leave(run.node.as_str(), reason, KIND_STOPPED);
            }
        }
    }

    /// Records that a node does not run, unless it had no success before.
    fn leave(&mut self, name: &str, reason: String, kind: &'static str) {
        let node = self.nodes.entry(name.to_owned()).or_default();
        if node.unsuccessful.is_none() {
            let end = RunEnd::NotRun { message: reason };
            node.unsuccessful = UnsuccessfulNode::after(self.number, end);
            node.left_with = Some(kind);
        }
    }

    /// The results of the nodes that were left out of a pass, in the form of those of a job.
    pub fn results_without_run(&self) -> Vec<Value> {
        let nodes = self.nodes.iter();
        let results = nodes.filter_map(|(name, node)| {
            let (kind, left) = (node.left_with?, node.unsuccessful.as_ref()?);
            let details = json!({"failed": left.failed, "pass": left.pass});
            let error = json!({"kind": kind, "msg": left.reason, "details": details});
            Some(json!({"target": name, "status": "failure", "value": {"_error": error}}))
        });
        results.collect()
    }

    /// The result, after the last pass.
    pub fn into_outcome(self) -> MultiPassOutcome {
        let mut outcome = MultiPassOutcome::new(self.number);
        for (certname, node) in self.nodes {
            outcome.add(certname, node.runs, node.unsuccessful);
        }
        outcome
    }
}

// === impl UnsuccessfulNode ===

impl UnsuccessfulNode {
    fn skipped(pass: u32, reason: String, failed: String) -> Self {
        Self {
            state: MultiPassState::Skipped,
            pass,
            reason,
            kind: Some(KIND_DEPENDENCY.to_owned()),
            failed: Some(failed),
        }
    }

    /// The state of a node after a run with this end; `None` after a success.
    fn after(pass: u32, end: RunEnd) -> Option<Self> {
        let (state, reason) = match end {
            RunEnd::Succeeded { .. } => return None,
            RunEnd::Skipped { message, failed } => {
                return Some(Self::skipped(pass, message, failed));
            }
            RunEnd::Failed { message } => (MultiPassState::Failed, message),
            RunEnd::NotRun { message } => (MultiPassState::NotRun, message),
        };
        Some(Self {
            state,
            pass,
            reason,
            kind: None,
            failed: None,
        })
    }
}
