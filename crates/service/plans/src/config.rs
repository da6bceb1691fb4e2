//! The settings of the engine, each with its default.
//!
//! [`PlansConfig`]. Invariant: the defaults are those of [`crate::defaults`], and a test may shrink every
//! interval.

use std::time::Duration;

use crate::defaults;

/// The settings of the plan engine.
#[derive(Clone, Debug)]
pub struct PlansConfig {
    /// Maximum number of plans in memory at once.
    pub running_plans: usize,
    /// Maximum number of plans that are not over.
    pub unfinished_plans: usize,
    /// Number of threads that plans run on.
    pub workers: usize,
    /// A sleep of at least this lets the plan go out of memory.
    pub long_sleep: Duration,
    /// A plan also leaves memory when nothing in it moved for this long.
    pub idle: Duration,
    /// The same limit while other plans are queued for memory.
    pub idle_when_full: Duration,
    /// The interval between two checks for such plans.
    pub tick: Duration,
    /// The pause before a plan is loaded again after a failure of the store.
    pub store_retry: Duration,
}

impl Default for PlansConfig {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            running_plans: defaults::RUNNING_PLANS,
            unfinished_plans: defaults::UNFINISHED_PLANS,
            workers: cores.min(defaults::WORKERS),
            long_sleep: defaults::LONG_SLEEP,
            idle: defaults::IDLE,
            idle_when_full: defaults::IDLE_WHEN_FULL,
            tick: defaults::TICK,
            store_retry: defaults::STORE_RETRY,
        }
    }
}
