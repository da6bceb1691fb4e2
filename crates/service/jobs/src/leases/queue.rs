//! The jobs that want the leases of nodes, in the order in which they came here: [`LeaseQueue`]. No I/O.
//!
//! Invariants: a job comes after every job that wanted one of its nodes before, so jobs never wait for each other in a
//! circle; and a job that is the first on all of its nodes stays so.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use pcp::Certname;

use super::LeaseWait;
use crate::keys::JobKey;

#[derive(Debug, Default)]
pub(super) struct LeaseQueue {
    /// The next place.
    next: u64,
    wanted: HashMap<JobKey, WantedNodes>,
    /// The jobs that want a node, by place; the first one has it.
    jobs_of: HashMap<Certname, BTreeMap<u64, JobKey>>,
}

#[derive(Debug)]
struct WantedNodes {
    place: u64,
    nodes: BTreeSet<Certname>,
}

// === impl LeaseQueue ===

impl LeaseQueue {
    /// Adds a job behind all others.
    pub(super) fn add(&mut self, job: JobKey, nodes: BTreeSet<Certname>) {
        let place = self.next;
        self.next += 1;
        for node in &nodes {
            let jobs = self.jobs_of.entry(node.clone()).or_default();
            jobs.insert(place, job);
        }
        self.wanted.insert(job, WantedNodes { place, nodes });
    }

    /// The job that has a node.
    pub(super) fn first_of(&self, node: &Certname) -> Option<JobKey> {
        let (_, job) = self.jobs_of.get(node)?.first_key_value()?;
        Some(*job)
    }

    /// The earliest job that has a node of this one, with the number of nodes; `None` if the job is the first on all
    /// of its nodes.
    pub(super) fn first_before(&self, job: JobKey) -> Option<LeaseWait> {
        let nodes = self.wanted.get(&job)?.nodes.iter();
        let firsts = nodes.filter_map(|node| self.jobs_of.get(node)?.first_key_value());
        let mut before: Vec<(u64, JobKey)> = firsts
            .map(|(place, first)| (*place, *first))
            .filter(|(_, first)| *first != job)
            .collect();
        before.sort_unstable();
        let (_, first) = *before.first()?;
        let nodes = before.iter().filter(|(_, it)| *it == first).count();
        Some(LeaseWait { job: first, nodes })
    }

    /// Gives nodes of a job to another one, which takes its place there. `false`, and nothing has changed, if the job
    /// does not have all of them.
    pub(super) fn pass_on(&mut self, from: JobKey, to: JobKey, nodes: &BTreeSet<Certname>) -> bool {
        let Some(wanted) = self.wanted.get_mut(&from) else {
            return false;
        };
        if !nodes.is_subset(&wanted.nodes) {
            return false;
        }
        let place = wanted.place;
        for node in nodes {
            wanted.nodes.remove(node);
            let jobs = self.jobs_of.entry(node.clone()).or_default();
            jobs.insert(place, to);
        }
        let nodes = nodes.clone();
        self.wanted.insert(to, WantedNodes { place, nodes });
        true
    }

    /// Removes a job from all nodes but these. Returns the jobs that have become the first on all of their nodes.
    pub(super) fn keep_only(&mut self, job: JobKey, kept: &BTreeSet<Certname>) -> Vec<JobKey> {
        let Some(wanted) = self.wanted.get_mut(&job) else {
            return Vec::new();
        };
        let place = wanted.place;
        let left: Vec<Certname> = wanted.nodes.difference(kept).cloned().collect();
        wanted.nodes.retain(|node| kept.contains(node));
        self.leave(place, left)
    }

    /// Removes a job. Returns the jobs that have become the first on all of their nodes, in their order.
    pub(super) fn remove(&mut self, job: JobKey) -> Vec<JobKey> {
        match self.wanted.remove(&job) {
            None => Vec::new(),
            Some(WantedNodes { place, nodes }) => self.leave(place, nodes),
        }
    }

    fn leave(&mut self, place: u64, nodes: impl IntoIterator<Item = Certname>) -> Vec<JobKey> {
        let mut candidates = BTreeMap::new();
        for node in nodes {
            let Some(jobs) = self.jobs_of.get_mut(&node) else {
                continue;
            };
            let was_first = jobs
                .first_key_value()
                .is_some_and(|(first, _)| *first == place);
            jobs.remove(&place);
            match jobs.first_key_value() {
                Some((place, next)) if was_first => _ = candidates.insert(*place, *next),
                Some(_) => {}
                None => _ = self.jobs_of.remove(&node),
            }
        }
        let free = candidates.into_values();
        free.filter(|next| self.first_before(*next).is_none())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nodes(numbers: &[u8]) -> BTreeSet<Certname> {
        let name = |number: &u8| format!("node{number}").parse().unwrap();
        numbers.iter().map(name).collect()
    }

    #[test]
    fn a_job_waits_for_the_earliest_of_those_that_have_its_nodes() {
        let mut queue = LeaseQueue::default();
        queue.add(JobKey(1), nodes(&[1, 2]));
        queue.add(JobKey(2), nodes(&[3]));
        queue.add(JobKey(3), nodes(&[1, 2, 3]));
        let wait = |job, nodes| {
            let job = JobKey(job);
            Some(LeaseWait { job, nodes })
        };
        assert_eq!(queue.first_before(JobKey(2)), None);
        assert_eq!(queue.first_before(JobKey(3)), wait(1, 2));
        assert_eq!(queue.remove(JobKey(1)), []);
        assert_eq!(queue.first_before(JobKey(3)), wait(2, 1));
        assert_eq!(queue.remove(JobKey(2)), [JobKey(3)]);
    }

    #[test]
    fn a_job_that_stops_waiting_lets_the_next_one_pass() {
        let mut queue = LeaseQueue::default();
        queue.add(JobKey(1), nodes(&[1]));
        queue.add(JobKey(2), nodes(&[1, 2]));
        queue.add(JobKey(3), nodes(&[2]));
        assert_eq!(queue.remove(JobKey(2)), [JobKey(3)]);
        assert_eq!(queue.remove(JobKey(2)), [], "once");
    }

    #[test]
    fn a_job_passes_its_place_on_with_some_of_its_nodes() {
        let mut queue = LeaseQueue::default();
        queue.add(JobKey(1), nodes(&[1, 2, 3, 4]));
        queue.add(JobKey(2), nodes(&[1]));
        queue.add(JobKey(3), nodes(&[2]));
        queue.add(JobKey(4), nodes(&[3]));
        assert_eq!(queue.keep_only(JobKey(1), &nodes(&[2, 3, 4])), [JobKey(2)]);
        assert!(
            !queue.pass_on(JobKey(1), JobKey(5), &nodes(&[1, 2])),
            "1 is another job's"
        );
        assert!(queue.pass_on(JobKey(1), JobKey(5), &nodes(&[2, 4])));
        assert_eq!(queue.first_before(JobKey(5)), None);
        assert_eq!(queue.remove(JobKey(1)), [JobKey(4)]);
        assert_eq!(queue.remove(JobKey(5)), [JobKey(3)]);
        assert!(
            !queue.pass_on(JobKey(5), JobKey(6), &nodes(&[2])),
            "it is over"
        );
    }

    proptest! {
        /// Whatever the jobs want and in whatever order they end, each gets its turn, and never beside another one on the
        /// same node.
        #[test]
        fn every_job_gets_its_turn_alone(
            wanted in prop::collection::vec(prop::collection::btree_set(0_u8..6, 1..4), 1..12),
            ends in prop::collection::vec(any::<prop::sample::Index>(), 12),
            keys in Just((0..12).collect::<Vec<u64>>()).prop_shuffle(),
        ) {
            let mut queue = LeaseQueue::default();
            let mut having = BTreeSet::new();
            // keys are given before the jobs are stored, which takes different times
            let wanted: HashMap<u64, BTreeSet<u8>> = keys.into_iter().zip(wanted).collect();
            for (key, wanted) in wanted.iter().map(|(key, wanted)| (JobKey(*key), wanted)) {
                queue.add(key, nodes(&wanted.iter().copied().collect::<Vec<_>>()));
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
                    for node in &wanted[key] {
                        prop_assert!(held.insert(*node), "two jobs have a node");
                    }
                }
                having.remove(&job);
                done += 1;
                having.extend(queue.remove(job));
            }
            prop_assert_eq!(done, wanted.len());
            prop_assert!(queue.jobs_of.is_empty() && queue.wanted.is_empty());
        }
    }
}
