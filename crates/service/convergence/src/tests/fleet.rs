//! Fleets of nodes that settle after some runs, or never.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;

use super::reruns::check_windows;
use super::{changed, unchanged};
use crate::node_run::NodeRun;
use crate::progress::{ConvergenceProgress, EndedWave, NextWave};
use crate::rerun_budget::{RerunAnswer, RerunBudget, RerunLimits, RerunRate};
use crate::{ConvergenceOptions, ConvergenceState};

/// The behaviour of a node in its runs.
#[derive(Clone, Copy, Debug)]
enum Manner {
    /// Changes something else in each of this number of runs but the last, which changes nothing.
    Settles(u32),
    /// Changes the same in each of so many different runs, for ever.
    Flaps(u32),
}

fn run(certname: &str, manner: Manner, number: u32) -> NodeRun {
    match manner {
        Manner::Settles(runs) if number >= runs => unchanged(certname),
        Manner::Settles(_) => changed(certname, &[&format!("step {number}")], Some(0)),
        Manner::Flaps(states) => {
            changed(certname, &[&format!("state {}", number % states)], Some(0))
        }
    }
}

fn manner() -> impl Strategy<Value = Manner> {
    prop_oneof![
        4 => (1_u32..6).prop_map(Manner::Settles),
        1 => (1_u32..4).prop_map(Manner::Flaps),
    ]
}

/// Jobs of waves on the same nodes, which share the reruns.
struct SharedFleet {
    fleet: BTreeMap<String, Manner>,
    budget: RerunBudget,
    runs: BTreeMap<String, u32>,
    /// The times of the reruns of each node, each with 1, and those of the fleet, with their number.
    reruns: BTreeMap<String, Vec<(Duration, usize)>>,
    all_reruns: Vec<(Duration, usize)>,
}

/// A job, its wave, and the time at which that ends or the next one asks for reruns.
struct WaveJob {
    progress: ConvergenceProgress,
    at: Duration,
    wave: Vec<String>,
    waiting: Option<(NextWave, Duration)>,
}

/// Nodes that a job had left out.
type LeftOut = Vec<String>;

impl SharedFleet {
    /// Goes on with a job until its next event. Returns the nodes that are left out; `None` after the last event.
    fn go_on(&mut self, job: &mut WaveJob, longest_wait: Duration) -> Option<LeftOut> {
        let Some((next, left)) = job.waiting.take() else {
            let runs = job.wave.iter().map(|node| {
                let number = self.runs.entry(node.clone()).or_default();
                *number += 1;
                run(node, self.fleet[node], *number)
            });
            let runs = runs.collect();
            let next = job.progress.record_wave(EndedWave {
                runs,
                ..EndedWave::default()
            })?;
            job.waiting = Some((next, longest_wait));
            return Some(Vec::new());
        };
        let left_out = match self.budget.draw(job.at, job.progress.candidates(), left) {
            RerunAnswer::Wait(wait) => {
                job.at += wait.pause;
                job.waiting = Some((next, left - wait.pause));
                return Some(Vec::new());
            }
            RerunAnswer::Start { left_out } => left_out,
        };
        let names: LeftOut = left_out.into_iter().map(|node| node.certname).collect();
        let reasons = names
            .iter()
            .map(|name| (name.clone(), "no rerun".to_owned()));
        if let Some(next) = job.progress.leave_out(next, reasons.collect()) {
            for node in &next.nodes {
                self.reruns
                    .entry(node.clone())
                    .or_default()
                    .push((job.at, 1));
            }
            self.all_reruns.push((job.at, next.nodes.len()));
            job.wave = next.nodes;
        } else {
            // a wave of no node is the end
            job.wave = Vec::new();
        }
        job.at += Duration::from_secs(30);
        Some(names)
    }
}

proptest! {
    /// Any number of jobs on the same nodes end, keep to the budget together, and name the nodes that they left out.
    #[test]
    fn jobs_on_the_same_nodes_share_the_reruns(
        manners in prop::collection::vec(manner(), 1..40),
        (burst, per_hour, fleet_burst) in (1_u32..5, 1_u32..200, 1_u32..60),
        (jobs, longest_wait) in (1_usize..6, prop_oneof![Just(0), 1_u64..1_800]),
    ) {
        let node = RerunRate { burst, per_hour };
        let fleet_rate = RerunRate { burst: fleet_burst, per_hour: 600 };
        let fleet: BTreeMap<String, Manner> =
            manners.into_iter().enumerate().map(|(node, it)| (format!("n{node:03}"), it)).collect();
        let start = Duration::from_secs(1_000_000);
        let mut open: Vec<(WaveJob, BTreeSet<String>)> = (0..jobs).map(|_| {
            let progress = ConvergenceProgress::new(ConvergenceOptions::default());
            let wave = fleet.keys().cloned().collect();
            (WaveJob { progress, at: start, wave, waiting: None }, BTreeSet::new())
        }).collect();
        let mut shared = SharedFleet {
            fleet,
            budget: RerunBudget::new(RerunLimits { node, fleet: fleet_rate }),
            runs: BTreeMap::new(),
            reruns: BTreeMap::new(),
            all_reruns: Vec::new(),
        };
        let longest_wait = Duration::from_secs(longest_wait);
        while let Some(next) = (0..open.len()).min_by_key(|job| open[*job].0.at) {
            let (job, left_out) = &mut open[next];
            if let Some(names) = shared.go_on(job, longest_wait) {
                for name in names {
                    prop_assert!(left_out.insert(name), "left out twice by one job");
                }
                continue;
            }
            let (job, left_out) = open.swap_remove(next);
            let outcome = job.progress.into_outcome();
            let throttled = outcome.unsettled.iter();
            let throttled = throttled.filter(|(_, node)| node.state == ConvergenceState::Throttled);
            let throttled: BTreeSet<String> = throttled.map(|(name, _)| name.clone()).collect();
            prop_assert_eq!(throttled, left_out);
        }
        for times in shared.reruns.values() {
            check_windows(node, times)?;
        }
        check_windows(fleet_rate, &shared.all_reruns)?;
    }

    /// Every node settles in the smallest number of runs, every one that flaps is named, and no node runs twice in a
    /// wave.
    #[test]
    fn fleets_converge_in_the_fewest_runs(manners in prop::collection::vec(manner(), 1..200)) {
        let fleet: BTreeMap<String, Manner> =
            manners.into_iter().enumerate().map(|(node, it)| (format!("n{node:03}"), it)).collect();
        let mut runs: BTreeMap<String, u32> = BTreeMap::new();
        let mut progress = ConvergenceProgress::new(ConvergenceOptions::default());
        let mut wave: Vec<String> = fleet.keys().cloned().collect();
        loop {
            let distinct: BTreeSet<&String> = wave.iter().collect();
            prop_assert_eq!(distinct.len(), wave.len());
            let ended = wave.iter().map(|node| {
                let number = runs.entry(node.clone()).or_default();
                *number += 1;
                run(node, fleet[node], *number)
            });
            let ended = ended.collect();
            let Some(next) = progress.record_wave(EndedWave { runs: ended, ..EndedWave::default() }) else { break };
            wave = next.nodes;
        }
        let outcome = progress.into_outcome();
        for (node, manner) in &fleet {
            let (expected, is_settled) = match *manner {
                Manner::Settles(count) => (count, true),
                Manner::Flaps(states) => (states + 1, false),
            };
            prop_assert_eq!(runs[node], expected, "{} {:?}", node, manner);
            prop_assert_eq!(!outcome.unsettled.contains_key(node), is_settled, "{}", node);
        }
        let is_settled = outcome.unsettled.is_empty();
        prop_assert_eq!(outcome.state == ConvergenceState::Converged, is_settled);
        prop_assert_eq!(outcome.runs(), runs.values().map(|runs| u64::from(*runs)).sum::<u64>());
    }
}
