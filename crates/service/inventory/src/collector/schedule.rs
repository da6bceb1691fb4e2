//! The times at which facts are requested from nodes: [`CollectionSchedule`], without I/O.
//!
//! Invariant: each node has its own offset in time, from its name and a seed, so that the fleet is
//! spread evenly however it connects.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use pcp::Certname;
use tokio::time::Instant;

use crate::defaults::{FIRST_FACTS_WITHIN, RETRY_FACTS};

/// The connected nodes, with the time at which each is due.
#[derive(Debug)]
pub(super) struct CollectionSchedule {
    interval: Duration,
    seed: u64,
    /// `None` for a node that is connected but not due at any time yet.
    nodes: HashMap<Certname, Option<Instant>>,
    by_time: BTreeSet<(Instant, Certname)>,
}

impl CollectionSchedule {
    pub(super) fn new(interval: Duration, seed: u64) -> Self {
        Self {
            interval,
            seed,
            nodes: HashMap::new(),
            by_time: BTreeSet::new(),
        }
    }

    /// Adds a connected node. `age` is the age of its facts, if there are any.
    pub(super) fn add_node(
        &mut self,
        certname: &Certname,
        asks: bool,
        age: Option<Duration>,
        now: Instant,
    ) {
        let due = match age {
            _ if !asks => None,
            // The first facts of a new node are needed soon.
            None => Some(self.fraction_of(certname, FIRST_FACTS_WITHIN)),
            Some(age) => {
                let left = self.interval.saturating_sub(age);
                // Facts that are too old were missed: the node catches up within a tenth of the
                // interval.
                Some(left + self.fraction_of(certname, self.interval / 10))
            }
        };
        self.set_due(certname, due.map(|wait| now + wait));
    }

    /// Removes a node whose session ended.
    pub(super) fn remove_node(&mut self, certname: &Certname) {
        if let Some(Some(at)) = self.nodes.remove(certname) {
            self.by_time.remove(&(at, certname.clone()));
        }
    }

    /// The nodes for which `there` is false.
    pub(super) fn nodes_absent(&self, there: impl Fn(&Certname) -> bool) -> Vec<Certname> {
        let names = self.nodes.keys().filter(|name| !there(name));
        names.cloned().collect()
    }

    /// Time at which the next node is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Takes a node that is due; its request counts as pending.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Certname> {
        if self.next_due()? > now {
            return None;
        }
        let (_, certname) = self.by_time.pop_first()?;
        self.nodes.insert(certname.clone(), None);
        Some(certname)
    }

    /// Schedules a node again after its request succeeded or failed.
    pub(super) fn record_result(&mut self, certname: &Certname, well: bool, now: Instant) {
        // Only if it is still connected and was not scheduled again meanwhile (by a reconnect).
        if self.nodes.get(certname) == Some(&None) {
            let wait = match well {
                true => self.interval,
                false => RETRY_FACTS.min(self.interval),
            };
            self.set_due(
                certname,
                Some(now + wait + self.fraction_of(certname, wait / 10)),
            );
        }
    }

    fn set_due(&mut self, certname: &Certname, due: Option<Instant>) {
        self.remove_node(certname);
        self.nodes.insert(certname.clone(), due);
        if let Some(at) = due {
            self.by_time.insert((at, certname.clone()));
        }
    }

    /// This node's fraction of `whole`.
    fn fraction_of(&self, certname: &Certname, whole: Duration) -> Duration {
        let mut hasher = DefaultHasher::new();
        (self.seed, certname.as_str()).hash(&mut hasher);
        let part = u32::try_from(hasher.finish() >> 32).unwrap_or(0);
        whole.mul_f64(f64::from(part) / f64::from(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF_HOUR: Duration = Duration::from_secs(1_800);

    fn name(i: u32) -> Certname {
        format!("node{i}.example").parse().unwrap()
    }

    fn fleet(age: Option<Duration>, now: Instant) -> CollectionSchedule {
        let mut schedule = CollectionSchedule::new(HALF_HOUR, 7);
        for i in 0..1_000 {
            schedule.add_node(&name(i), true, age, now);
        }
        schedule
    }

    fn due_within(schedule: &mut CollectionSchedule, until: Instant) -> usize {
        std::iter::from_fn(|| schedule.take_due(until)).count()
    }

    #[test]
    fn new_nodes_are_spread_over_the_first_moments() {
        let now = Instant::now();
        let mut schedule = fleet(None, now);
        let half = due_within(&mut schedule, now + FIRST_FACTS_WITHIN / 2);
        assert!((400..600).contains(&half), "{half}");
        assert_eq!(
            half + due_within(&mut schedule, now + FIRST_FACTS_WITHIN),
            1_000
        );
    }

    #[test]
    fn nodes_that_come_back_are_not_asked_again_at_once() {
        let now = Instant::now();
        let mut schedule = fleet(Some(HALF_HOUR / 2), now);
        assert_eq!(
            due_within(&mut schedule, now + HALF_HOUR / 2 - Duration::from_secs(1)),
            0
        );
        let late = fleet(Some(HALF_HOUR * 9), now);
        assert!(late.next_due() >= Some(now));
        let mut late = late;
        let at_once = due_within(&mut late, now + Duration::from_secs(1));
        assert!(at_once < 20, "{at_once}");
    }

    #[test]
    fn a_node_is_asked_once_at_a_time_and_never_when_it_is_gone() {
        let now = Instant::now();
        let mut schedule = CollectionSchedule::new(HALF_HOUR, 7);
        schedule.add_node(&name(1), true, None, now);
        schedule.add_node(&name(2), false, None, now);
        let later = now + HALF_HOUR;
        assert_eq!(schedule.take_due(later), Some(name(1)));
        assert_eq!(schedule.take_due(later), None, "it is being asked");
        schedule.record_result(&name(1), false, later);
        assert!(schedule.next_due() > Some(later));
        assert!(schedule.next_due() <= Some(later + RETRY_FACTS + RETRY_FACTS / 10));
        schedule.remove_node(&name(1));
        assert_eq!(schedule.next_due(), None);
        schedule.record_result(&name(1), true, later);
        assert_eq!(
            schedule.next_due(),
            None,
            "an answer does not bring it back"
        );
        assert_eq!(schedule.nodes_absent(|_| false), [name(2)]);
    }
}
