//! Fleets of nodes that settle after some runs, or never.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{changed, unchanged};
use crate::node_run::NodeRun;
use crate::progress::{ConvergenceProgress, EndedWave};
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

proptest! {
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
