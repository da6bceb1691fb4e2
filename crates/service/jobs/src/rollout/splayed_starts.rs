//! Starts of a job's runs that are spread evenly over a time, without I/O: [`SplayedStarts`].
//!
//! Invariant: the runs start in order and none before its time; after a delay, at most two runs start in the time in which
//! one should, until the runs are in time again.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::defaults::SPLAY_BURST;

/// The runs of a job that have not reached their time.
#[derive(Debug)]
pub(crate) struct SplayedStarts {
    /// Indexes of the runs.
    runs: VecDeque<usize>,
    /// Time of the next run, if none before it is late.
    next: Instant,
    /// Time between two runs.
    distance: Duration,
    /// Time for which a run was last taken.
    last: Option<Instant>,
}

// === impl SplayedStarts ===

impl SplayedStarts {
    /// The runs with these indexes, spread over `splay` from now on.
    pub(crate) fn new(runs: Vec<usize>, splay: Duration, now: Instant) -> Self {
        Self {
            distance: splay / to_count(runs.len().max(1)),
            runs: runs.into(),
            next: now,
            last: None,
        }
    }

    /// The runs that are left of a job on this many nodes, spread over what is left of `splay`, but at most twice as
    /// densely as at first.
    pub(crate) fn resume(
        runs: Vec<usize>,
        nodes: usize,
        splay: Duration,
        age: Duration,
        now: Instant,
    ) -> Self {
        let least = splay / to_count(nodes.max(1)) * to_count(runs.len()) / 2;
        Self::new(runs, splay.saturating_sub(age).max(least), now)
    }

    /// The time at which the next run starts; `None` if none is left.
    pub(crate) fn next_start(&self) -> Option<Instant> {
        self.runs.front()?;
        let earliest = self.last.map(|last| last + self.distance / 2);
        Some(earliest.map_or(self.next, |earliest| earliest.max(self.next)))
    }

    /// Takes the indexes of the runs whose time has come.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<usize> {
        // runs that are late by more do not start at once
        let recently = now.checked_sub(SPLAY_BURST);
        let mut due = Vec::new();
        while let Some(start) = self.next_start()
            && start <= now
        {
            self.last = Some(recently.map_or(start, |recently| recently.max(start)));
            self.next += self.distance;
            due.extend(self.runs.pop_front());
        }
        due
    }

    /// Takes the indexes of all runs that are left; none of them starts.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = usize> {
        self.runs.drain(..)
    }
}

fn to_count(runs: usize) -> u32 {
    u32::try_from(runs).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    /// The seconds after `begin` at which each run starts, if the starts are looked at whenever one is due.
    fn seconds(starts: &mut SplayedStarts, begin: Instant, mut now: Instant) -> Vec<f64> {
        let mut seconds = Vec::new();
        while let Some(next) = starts.next_start() {
            now = now.max(next);
            for _ in starts.take_due(now) {
                seconds.push((now - begin).as_secs_f64());
            }
        }
        seconds
    }

    fn indexes(count: usize) -> Vec<usize> {
        (0..count).collect()
    }

    #[test]
    fn starts_are_even() {
        let begin = Instant::now();
        let mut starts = SplayedStarts::new(indexes(6), MINUTE, begin);
        assert_eq!(
            seconds(&mut starts, begin, begin),
            [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]
        );
        let mut none = SplayedStarts::new(vec![], MINUTE, begin);
        assert_eq!((none.next_start(), none.take_due(begin)), (None, vec![]));
    }

    /// The load of a fleet whose regular runs are such jobs: no minute has more than 1.2 times the mean.
    #[test]
    fn no_minute_has_more_than_its_share() {
        for nodes in [25, 100, 999, 10_000, 50_000] {
            let begin = Instant::now();
            let mut starts = SplayedStarts::new(indexes(nodes), 28 * MINUTE, begin);
            let mut of_minutes = [0_usize; 28];
            for second in seconds(&mut starts, begin, begin) {
                of_minutes[(second / 60.0) as usize] += 1;
            }
            let most = *of_minutes.iter().max().unwrap();
            assert!(most <= nodes.div_ceil(28), "{nodes}: {of_minutes:?}");
        }
    }

    /// After a stop of the process for 20 seconds, as by a suspended machine.
    #[test]
    fn late_runs_start_at_twice_the_rate_until_they_are_in_time() {
        let begin = Instant::now();
        let mut starts = SplayedStarts::new(indexes(60), MINUTE, begin);
        assert_eq!(starts.take_due(begin), [0]);
        let times = seconds(&mut starts, begin, begin + Duration::from_secs(20));
        let at_once = times.iter().filter(|time| **time < 20.1).count();
        assert!((2..=3).contains(&at_once), "{times:?}");
        let until_thirty = times.iter().filter(|time| **time < 30.0).count();
        assert!((20..=23).contains(&until_thirty), "{times:?}");
        assert_eq!(times[54..], [55.0, 56.0, 57.0, 58.0, 59.0]);
    }

    #[test]
    fn those_left_after_a_restart_share_the_time_that_is_left() {
        let now = Instant::now();
        let resume = |left: usize, age_s| {
            let age = Duration::from_secs(age_s);
            let mut starts = SplayedStarts::resume(indexes(left), 60, MINUTE, age, now);
            seconds(&mut starts, now, now)
        };
        assert_eq!(resume(4, 40), [0.0, 5.0, 10.0, 15.0]);
        assert_eq!(
            resume(3, 59),
            [0.0, 0.5, 1.0],
            "no more than twice as densely"
        );
        assert_eq!(resume(3, 9_999), [0.0, 0.5, 1.0]);
        assert_eq!(resume(0, 0), [0.0; 0]);
    }

    #[test]
    fn those_left_are_taken_once() {
        let begin = Instant::now();
        let mut starts = SplayedStarts::new(vec![5, 7, 9], MINUTE, begin);
        assert_eq!(starts.take_due(begin), [5]);
        assert_eq!(starts.take_all().collect::<Vec<_>>(), [7, 9]);
        assert_eq!(starts.next_start(), None);
    }

    proptest! {
        /// However late and seldom the starts are looked at, each run starts once, in order, never before its time.
        #[test]
        fn each_starts_once_and_never_early(
            nodes in 1_usize..200,
            splay_ms in 1_u64..100_000,
            looks in prop::collection::vec(0_u64..5_000, 1..300),
        ) {
            let begin = Instant::now();
            let splay = Duration::from_millis(splay_ms);
            let mut starts = SplayedStarts::new(indexes(nodes), splay, begin);
            let mut now = begin;
            let mut started = Vec::new();
            for look in looks {
                now += Duration::from_millis(look);
                for index in starts.take_due(now) {
                    prop_assert!(begin + splay / nodes as u32 * index as u32 <= now);
                    started.push(index);
                }
            }
            while let Some(next) = starts.next_start() {
                now = now.max(next);
                started.extend(starts.take_due(now));
            }
            prop_assert_eq!(started, indexes(nodes));
        }
    }
}
