//! Order in which runs start: a limit for each pool of slots, a limit per job, and turns between
//! the jobs.
//!
//! [`SlotScheduler`] only counts; it is independent of nodes and time. Invariant: slots taken never
//! exceed the limit of their [`SlotPool`] or a job's own (except by [`SlotScheduler::resume`], for runs
//! that were already going when the engine started), and a job with waiting runs gets a turn before
//! another of its pool gets two. Pools do not wait for each other.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// The pool of slots that a job's runs take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotPool {
    /// Actions: `task_concurrency`.
    Actions,
    /// Puppet runs, each of which needs a catalog compiled: `global_concurrent_compiles`.
    Compiles,
}

/// The slots of all jobs, by a key that the caller chooses.
#[derive(Debug)]
pub(crate) struct SlotScheduler<K> {
    actions: PoolSlots<K>,
    compiles: PoolSlots<K>,
    lanes: HashMap<K, SchedulerLane>,
}

#[derive(Debug)]
struct PoolSlots<K> {
    limit: usize,
    in_flight: usize,
    /// Jobs that could take a slot, in the order of their turns; may hold stale entries.
    ring: VecDeque<K>,
}

#[derive(Debug)]
struct SchedulerLane {
    pool: SlotPool,
    limit: usize,
    in_flight: usize,
    waiting: usize,
    in_ring: bool,
}

// === impl SlotScheduler ===

impl<K: Copy + Eq + Hash> SlotScheduler<K> {
    pub(crate) fn new(actions: usize, compiles: usize) -> Self {
        Self {
            actions: PoolSlots::new(actions),
            compiles: PoolSlots::new(compiles),
            lanes: HashMap::new(),
        }
    }

    /// Adds a job with up to `wanted` runs to start at once. Returns the number that may start;
    /// they hold slots from now on. Its other runs are added by [`Self::add_waiting`] when it is
    /// ready.
    pub(crate) fn reserve(
        &mut self,
        key: K,
        pool: SlotPool,
        job_limit: Option<usize>,
        wanted: usize,
    ) -> usize {
        let limit = job_limit.unwrap_or(usize::MAX).max(1);
        // No waiting job is overtaken: while the ring has entries with work, there are no free
        // slots.
        let slots = self.slots(pool);
        let free = slots.limit.saturating_sub(slots.in_flight);
        let granted = wanted.min(free).min(limit);
        self.resume(key, pool, job_limit, granted);
        granted
    }

    /// Adds a job whose runs were going before this engine started.
    pub(crate) fn resume(
        &mut self,
        key: K,
        pool: SlotPool,
        job_limit: Option<usize>,
        in_flight: usize,
    ) {
        let limit = job_limit.unwrap_or(usize::MAX).max(1);
        self.slots(pool).in_flight += in_flight;
        let lane = SchedulerLane {
            pool,
            limit,
            in_flight,
            waiting: 0,
            in_ring: false,
        };
        self.lanes.insert(key, lane);
    }

    /// Adds `count` runs of the job that wait for a slot.
    pub(crate) fn add_waiting(&mut self, key: K, count: usize) {
        if let Some(lane) = self.lanes.get_mut(&key) {
            lane.waiting += count;
        }
        self.add_to_ring(key);
    }

    /// Removes the job's waiting runs, none of which will start.
    pub(crate) fn drop_waiting(&mut self, key: K) {
        if let Some(lane) = self.lanes.get_mut(&key) {
            lane.waiting = 0;
        }
    }

    /// The job whose turn it is: it holds one slot more from now on and has one run less waiting.
    pub(crate) fn next(&mut self) -> Option<K> {
        self.next_in_pool(SlotPool::Actions)
            .or_else(|| self.next_in_pool(SlotPool::Compiles))
    }

    fn next_in_pool(&mut self, pool: SlotPool) -> Option<K> {
        while self.slots(pool).in_flight < self.slots(pool).limit {
            let key = self.slots(pool).ring.pop_front()?;
            let Some(lane) = self.lanes.get_mut(&key) else {
                continue;
            };
            lane.in_ring = false;
            if lane.waiting == 0 || lane.in_flight >= lane.limit {
                continue;
            }
            lane.waiting -= 1;
            lane.in_flight += 1;
            self.slots(pool).in_flight += 1;
            self.add_to_ring(key);
            return Some(key);
        }
        None
    }

    /// Returns the slot of a run of the job.
    pub(crate) fn release(&mut self, key: K) {
        if let Some(lane) = self.lanes.get_mut(&key) {
            lane.in_flight = lane.in_flight.saturating_sub(1);
            let pool = lane.pool;
            self.slots(pool).release_slots(1);
            self.add_to_ring(key);
        }
    }

    /// Removes a job that is over.
    pub(crate) fn remove(&mut self, key: K) {
        if let Some(lane) = self.lanes.remove(&key) {
            self.slots(lane.pool).release_slots(lane.in_flight);
        }
    }

    /// Slots taken, of all pools.
    pub(crate) fn in_flight(&self) -> usize {
        self.actions.in_flight + self.compiles.in_flight
    }

    /// Runs that wait for a slot.
    pub(crate) fn waiting(&self) -> usize {
        self.lanes.values().map(|lane| lane.waiting).sum()
    }

    fn slots(&mut self, pool: SlotPool) -> &mut PoolSlots<K> {
        match pool {
            SlotPool::Actions => &mut self.actions,
            SlotPool::Compiles => &mut self.compiles,
        }
    }

    fn add_to_ring(&mut self, key: K) {
        if let Some(lane) = self.lanes.get_mut(&key)
            && !lane.in_ring
            && lane.waiting > 0
            && lane.in_flight < lane.limit
        {
            lane.in_ring = true;
            let pool = lane.pool;
            self.slots(pool).ring.push_back(key);
        }
    }
}

impl<K> PoolSlots<K> {
    fn new(limit: usize) -> Self {
        Self {
            limit: limit.max(1),
            in_flight: 0,
            ring: VecDeque::new(),
        }
    }

    fn release_slots(&mut self, slots: usize) {
        self.in_flight = self.in_flight.saturating_sub(slots);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn turns(scheduler: &mut SlotScheduler<u8>) -> Vec<u8> {
        std::iter::from_fn(|| scheduler.next()).collect()
    }

    #[test]
    fn jobs_take_turns() {
        let mut scheduler = SlotScheduler::new(6, 1);
        scheduler.reserve(1, SlotPool::Actions, None, 0);
        scheduler.reserve(2, SlotPool::Actions, None, 0);
        scheduler.add_waiting(1, 100);
        scheduler.add_waiting(2, 2);
        assert_eq!(turns(&mut scheduler), [1, 2, 1, 2, 1, 1]);
        scheduler.release(2);
        assert_eq!(turns(&mut scheduler), [1]);
    }

    #[test]
    fn a_job_limit_leaves_slots_to_others() {
        let mut scheduler = SlotScheduler::new(5, 1);
        assert_eq!(scheduler.reserve(1, SlotPool::Actions, Some(2), 10), 2);
        scheduler.add_waiting(1, 8);
        assert!(turns(&mut scheduler).is_empty());
        assert_eq!(scheduler.reserve(2, SlotPool::Actions, None, 10), 3);
        scheduler.add_waiting(2, 7);
        scheduler.release(1);
        assert_eq!(
            turns(&mut scheduler),
            [2],
            "it could have taken a slot for longer"
        );
    }

    #[test]
    fn resumed_runs_may_pass_the_limit_and_then_nothing_starts() {
        let mut scheduler = SlotScheduler::new(2, 1);
        scheduler.resume(1, SlotPool::Actions, None, 4);
        scheduler.add_waiting(1, 1);
        assert!(turns(&mut scheduler).is_empty());
        scheduler.release(1);
        scheduler.release(1);
        assert!(turns(&mut scheduler).is_empty());
        scheduler.release(1);
        assert_eq!(turns(&mut scheduler), [1]);
    }

    #[test]
    fn pools_do_not_wait_for_each_other() {
        let mut scheduler = SlotScheduler::new(1, 2);
        assert_eq!(scheduler.reserve(1, SlotPool::Compiles, None, 5), 2);
        scheduler.add_waiting(1, 3);
        assert_eq!(scheduler.reserve(2, SlotPool::Actions, None, 5), 1);
        scheduler.add_waiting(2, 4);
        assert!(turns(&mut scheduler).is_empty());
        assert_eq!(scheduler.in_flight(), 3);
        scheduler.release(1);
        assert_eq!(turns(&mut scheduler), [1], "a slot of its own pool");
        scheduler.remove(1);
        assert!(turns(&mut scheduler).is_empty(), "no slot of another's");
        assert_eq!(scheduler.in_flight(), 1);
    }

    #[test]
    fn a_removed_job_gives_everything_back() {
        let mut scheduler = SlotScheduler::new(2, 1);
        assert_eq!(scheduler.reserve(1, SlotPool::Actions, None, 9), 2);
        scheduler.add_waiting(1, 7);
        scheduler.remove(1);
        assert_eq!((scheduler.in_flight(), scheduler.waiting()), (0, 0));
        assert_eq!(scheduler.reserve(2, SlotPool::Actions, None, 1), 1);
    }

    proptest! {
        /// Whatever happens, the bounds hold, and when nothing can start there is a reason.
        #[test]
        fn bounds_hold(
            limit in 1_usize..8,
            job_limits in prop::collection::vec(prop::option::of(1_usize..4), 3),
            steps in prop::collection::vec((0_u8..5, 0_usize..3, 1_usize..5), 1..200),
        ) {
            let mut scheduler = SlotScheduler::new(limit, 1);
            let mut taken = [0_usize; 3];
            let mut waiting = [0_usize; 3];
            for (job, job_limit) in job_limits.iter().enumerate() {
                scheduler.reserve(job, SlotPool::Actions, *job_limit, 0);
            }
            for (action, job, count) in steps {
                match action {
                    0 | 1 => { scheduler.add_waiting(job, count); waiting[job] += count; }
                    2 if taken[job] > 0 => { scheduler.release(job); taken[job] -= 1; }
                    3 if count == 4 => { scheduler.drop_waiting(job); waiting[job] = 0; }
                    _ => {
                        if let Some(job) = scheduler.next() {
                            taken[job] += 1;
                            waiting[job] -= 1;
                        } else {
                            let idle = taken.iter().sum::<usize>() < limit && (0..3).any(|job| {
                                waiting[job] > 0 && taken[job] < job_limits[job].unwrap_or(99)
                            });
                            prop_assert!(!idle, "free slots and willing jobs, but no turn");
                        }
                    }
                }
                prop_assert!(taken.iter().sum::<usize>() <= limit);
                for (job, job_limit) in job_limits.iter().enumerate() {
                    prop_assert!(taken[job] <= job_limit.unwrap_or(99));
                }
                prop_assert_eq!(scheduler.in_flight(), taken.iter().sum::<usize>());
                prop_assert_eq!(scheduler.waiting(), waiting.iter().sum::<usize>());
            }
        }
    }
}
