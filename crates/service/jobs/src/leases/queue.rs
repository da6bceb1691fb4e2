//! The jobs that want the leases of nodes, in the order in which they were made: [`LeaseQueue`]. No I/O.
//!
//! Invariant: a job comes after every earlier job that wants one of its nodes, so jobs never wait for each other in a
//! circle.

use std::collections::{BTreeSet, HashMap};

use pcp::Certname;

use super::LeaseWait;
use crate::keys::JobKey;

#[derive(Debug, Default)]
pub(super) struct LeaseQueue {
    nodes_of: HashMap<JobKey, Vec<Certname>>,
    /// The jobs that want a node; the first one has it.
    jobs_of: HashMap<Certname, BTreeSet<JobKey>>,
}

// === impl LeaseQueue ===

impl LeaseQueue {
    pub(super) fn add(&mut self, job: JobKey, nodes: &[Certname]) {
        for node in nodes {
            self.jobs_of.entry(node.clone()).or_default().insert(job);
        }
        self.nodes_of.insert(job, nodes.to_vec());
    }

    /// The earliest job that has a node of this one, with the number of nodes; `None` if the job is the first on all
    /// of its nodes.
    pub(super) fn first_before(&self, job: JobKey) -> Option<LeaseWait> {
        let nodes = self.nodes_of.get(&job)?.iter();
        let firsts = nodes.filter_map(|node| self.jobs_of.get(node)?.first());
        let mut before: Vec<JobKey> = firsts.copied().filter(|first| *first != job).collect();
        before.sort_unstable();
        let first = *before.first()?;
        let nodes = before.iter().filter(|it| **it == first).count();
        Some(LeaseWait { job: first, nodes })
    }

    /// Removes a job. Returns the jobs that have become the first on all of their nodes, in their order.
    pub(super) fn remove(&mut self, job: JobKey) -> BTreeSet<JobKey> {
        let mut candidates = BTreeSet::new();
        for node in self.nodes_of.remove(&job).unwrap_or_default() {
            let Some(jobs) = self.jobs_of.get_mut(&node) else {
                continue;
            };
            let was_first = jobs.first() == Some(&job);
            jobs.remove(&job);
            match jobs.first() {
                Some(next) if was_first => _ = candidates.insert(*next),
                Some(_) => {}
                None => _ = self.jobs_of.remove(&node),
            }
        }
        candidates.retain(|next| self.first_before(*next).is_none());
        candidates
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nodes(numbers: &[u8]) -> Vec<Certname> {
        let name = |number: &u8| format!("node{number}").parse().unwrap();
        numbers.iter().map(name).collect()
    }

    #[test]
    fn a_job_waits_for_the_earliest_of_those_that_have_its_nodes() {
        let mut queue = LeaseQueue::default();
        queue.add(JobKey(1), &nodes(&[1, 2]));
        queue.add(JobKey(2), &nodes(&[3]));
        queue.add(JobKey(3), &nodes(&[1, 2, 3]));
        let wait = |job, nodes| {
            let job = JobKey(job);
            Some(LeaseWait { job, nodes })
        };
        assert_eq!(queue.first_before(JobKey(2)), None);
        assert_eq!(queue.first_before(JobKey(3)), wait(1, 2));
        assert_eq!(queue.remove(JobKey(1)), BTreeSet::new());
        assert_eq!(queue.first_before(JobKey(3)), wait(2, 1));
        assert_eq!(queue.remove(JobKey(2)), BTreeSet::from([JobKey(3)]));
    }

    #[test]
    fn a_job_that_stops_waiting_lets_the_next_one_pass() {
        let mut queue = LeaseQueue::default();
        queue.add(JobKey(1), &nodes(&[1]));
        queue.add(JobKey(2), &nodes(&[1, 2]));
        queue.add(JobKey(3), &nodes(&[2]));
        assert_eq!(queue.remove(JobKey(2)), BTreeSet::from([JobKey(3)]));
        assert_eq!(queue.remove(JobKey(2)), BTreeSet::new(), "once");
    }

    proptest! {
        /// Whatever the jobs want and in whatever order they end, each gets its turn, and never beside another one on the
        /// same node.
        #[test]
        fn every_job_gets_its_turn_alone(
            wanted in prop::collection::vec(prop::collection::btree_set(0_u8..6, 1..4), 1..12),
            ends in prop::collection::vec(any::<prop::sample::Index>(), 12),
        ) {
            let mut queue = LeaseQueue::default();
            let mut having = BTreeSet::new();
            for (key, wanted) in (0..).map(JobKey).zip(&wanted) {
                queue.add(key, &nodes(&wanted.iter().copied().collect::<Vec<_>>()));
                if queue.first_before(key).is_none() {
                    having.insert(key);
                }
            }
            let mut done = 0;
            for end in ends.iter().cycle() {
                let Some(job) = (!having.is_empty()).then(|| *end.get(&having.iter().copied().collect::<Vec<_>>())) else {
                    break;
                };
                let mut held = BTreeSet::new();
                for JobKey(key) in &having {
                    for node in &wanted[usize::try_from(*key).unwrap()] {
                        prop_assert!(held.insert(*node), "two jobs have a node");
                    }
                }
                having.remove(&job);
                done += 1;
                having.extend(queue.remove(job));
            }
            prop_assert_eq!(done, wanted.len());
            prop_assert!(queue.jobs_of.is_empty() && queue.nodes_of.is_empty());
        }
    }
}
