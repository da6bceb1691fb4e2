//! The settings of the plan engine, each with its default. Main type: [`PlansConfig`].
//!
//! Invariant: the defaults are those of [`crate::defaults`]; tests may shorten every interval.

use std::time::Duration;

use crate::defaults;

/// The settings of the plan engine.
#[derive(Clone, Debug)]
pub struct PlansConfig {
    /// Maximum number of plans in memory at once.
    pub running_plans: usize,
    /// Maximum number of plans that have not ended.
    pub unfinished_plans: usize,
    /// Number of threads on which plans run.
    pub workers: usize,
    /// A sleep of at least this length removes the plan from memory.
    pub long_sleep: Duration,
    /// Time without progress after which a plan is removed from memory.
    pub idle: Duration,
    /// The same limit while other plans are queued for memory.
    pub idle_when_full: Duration,
    /// Interval between the checks for idle plans.
    pub tick: Duration,
    /// Pause before a plan is loaded again after the store failed.
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
