//! Runs whose node is away when their turn comes: [`RunsAwaitingNodes`].
//!
//! Invariant: they hold no slot, go on as soon as the node is connected, and wait for it no longer
//! than their grace. A broker that restarts, or a network that fails for a moment, disconnects
//! thousands of nodes at once; that must not end the rest of a job.

use std::collections::HashMap;

use pcp::Certname;
use tokio::time::Instant;

use crate::keys::{JobKey, RunKey};

/// The waiting runs, by node.
#[derive(Debug, Default)]
pub(super) struct RunsAwaitingNodes {
    by_node: HashMap<Certname, Vec<AwaitingRun>>,
}

#[derive(Clone, Copy, Debug)]
struct AwaitingRun {
    run: RunKey,
    until: Instant,
}

// === impl RunsAwaitingNodes ===

impl RunsAwaitingNodes {
    pub(super) fn add_run(&mut self, certname: Certname, run: RunKey, until: Instant) {
        let places = self.by_node.entry(certname).or_default();
        places.push(AwaitingRun { run, until });
    }

    /// Takes the runs of a node that is connected: they go on.
    pub(super) fn take_by_node(&mut self, certname: &Certname) -> Vec<RunKey> {
        let places = self.by_node.remove(certname).unwrap_or_default();
        places.into_iter().map(|place| place.run).collect()
    }

    /// Takes the runs of a job, none of which will start.
    pub(super) fn take_by_job(&mut self, job: JobKey) -> Vec<RunKey> {
        self.take_matching(|place| place.run.job == job)
    }

    /// Takes the runs whose nodes did not come in time.
    pub(super) fn take_overdue(&mut self, now: Instant) -> Vec<RunKey> {
        self.take_matching(|place| now >= place.until)
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = &Certname> {
        self.by_node.keys()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_node.is_empty()
    }

    fn take_matching(&mut self, which: impl Fn(&AwaitingRun) -> bool) -> Vec<RunKey> {
        let mut taken = Vec::new();
        self.by_node.retain(|_, places| {
            taken.extend(
                places
                    .extract_if(.., |place| which(place))
                    .map(|place| place.run),
            );
            !places.is_empty()
        });
        taken
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_is_taken_once_for_the_first_reason_that_comes() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let node = |name: &str| -> Certname { name.parse().unwrap() };
        let run = |job, index| RunKey {
            job: JobKey(job),
            index,
        };
        let mut parked = RunsAwaitingNodes::default();
        parked.add_run(node("a"), run(1, 0), at(10));
        parked.add_run(node("a"), run(2, 0), at(20));
        parked.add_run(node("b"), run(1, 1), at(10));
        parked.add_run(node("c"), run(2, 1), at(10));
        assert_eq!(parked.take_overdue(at(9)), []);
        assert_eq!(parked.take_by_node(&node("b")), [run(1, 1)]);
        assert_eq!(parked.take_by_job(JobKey(1)), [run(1, 0)]);
        assert_eq!(parked.take_overdue(at(10)), [run(2, 1)]);
        assert_eq!(parked.nodes().collect::<Vec<_>>(), [&node("a")]);
        assert_eq!(parked.take_overdue(at(20)), [run(2, 0)]);
        assert!(parked.is_empty());
    }
}
