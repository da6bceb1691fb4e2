//! The settings of the engine, each with its default.
//!
//! [`PlansConfig`]; the rule: the defaults are those of [`crate::defaults`], and a test may shrink every
//! interval.

use std::time::Duration;

use crate::defaults;

/// How the engine works.
#[derive(Clone, Debug)]
pub struct PlansConfig {
    /// Plans in memory at once.
    pub running_plans: usize,
    /// Plans that are not over.
    pub unfinished_plans: usize,
    /// Threads that plans run on.
    pub workers: usize,
    /// A sleep of at least this lets the plan go out of memory.
    pub long_sleep: Duration,
    /// So does it when nothing moved for this long.
    pub idle: Duration,
    /// The same, while other plans wait for a place.
    pub idle_when_full: Duration,
    /// How often that is looked after.
    pub tick: Duration,
    /// The pause before a plan that the store failed is taken up again.
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
