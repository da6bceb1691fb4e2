//! The budget of reruns that all jobs of a server share: [`RerunLimiter`].
//!
//! Invariant: the buckets are in memory, and full after a start of the server, so a restart never takes a rerun away.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use store::Clock;
use telemetry::metrics::Counter;

use crate::descriptions::describe_left_out;
use crate::rerun_budget::{RerunAnswer, RerunBudget, RerunCandidate, RerunLimits};

telemetry::metrics! {
    /// Counters of the reruns of waves since the start of the server.
    pub struct RerunMetrics {
        /// Runs of Puppet for which a wave took a rerun from the budget.
        pub reruns: Counter = "reruns",
        /// Times that a wave waited for the budget of reruns.
        pub waits: Counter = "rerun_waits",
        /// Nodes that were left out of a wave, since the budget of reruns was used up.
        pub left_out: Counter = "reruns_left_out",
    }
}

/// The reruns of all jobs of waves.
#[derive(Debug)]
pub struct RerunLimiter {
    limits: RerunLimits,
    budget: Mutex<RerunBudget>,
    clock: Arc<dyn Clock>,
    metrics: Arc<RerunMetrics>,
}

/// An answer to a wave, as the plan job stores it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StoredRerunAnswer {
    Wait {
        ms: u64,
        /// The node that has its token last; `None` if it is the fleet.
        last: Option<String>,
    },
    Start {
        /// The nodes without a rerun, with the reason of each in a sentence.
        left_out: BTreeMap<String, String>,
    },
}

// === impl RerunLimiter ===

impl RerunLimiter {
    /// Full buckets of this size.
    pub fn new(limits: RerunLimits, clock: Arc<dyn Clock>) -> Self {
        Self {
            limits,
            budget: Mutex::new(RerunBudget::new(limits)),
            clock,
            metrics: Arc::default(),
        }
    }

    pub fn metrics(&self) -> Arc<RerunMetrics> {
        Arc::clone(&self.metrics)
    }

    /// Takes the tokens of a wave, if all of its nodes that have one in time have it now.
    pub(crate) fn draw(
        &self,
        wave: Vec<RerunCandidate>,
        longest_wait: Duration,
    ) -> StoredRerunAnswer {
        let nodes = wave.len();
        let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        // read under the lock, so that no call has an earlier time than the one before
        let now = u64::try_from(self.clock.steady_ms()).unwrap_or_default();
        let answer = budget.draw(Duration::from_millis(now), wave, longest_wait);
        drop(budget);
        match answer {
            RerunAnswer::Wait(wait) => {
                self.metrics.waits.inc();
                let ms = wait.pause.as_nanos().div_ceil(1_000_000);
                StoredRerunAnswer::Wait {
                    ms: u64::try_from(ms).unwrap_or(u64::MAX),
                    last: wait.last,
                }
            }
            RerunAnswer::Start { left_out } => {
                let count = |nodes: usize| u64::try_from(nodes).unwrap_or(u64::MAX);
                self.metrics.reruns.inc_by(count(nodes - left_out.len()));
                self.metrics.left_out.inc_by(count(left_out.len()));
                let now_ms = self.clock.now_ms();
                let reasons = left_out.into_iter().map(|node| {
                    let reason = describe_left_out(&node.reason, self.limits, now_ms);
                    (node.certname, reason)
                });
                StoredRerunAnswer::Start {
                    left_out: reasons.collect(),
                }
            }
        }
    }
}
