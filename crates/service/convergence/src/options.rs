//! Limits of repeated runs: [`ConvergenceOptions`].
//!
//! Invariant: the number of waves and every pause are bounded.

use std::time::Duration;

use api_types::ConvergenceLimits;
use serde::{Deserialize, Serialize};

use crate::defaults::{MAX_DELAY, MAX_WAVES};

/// Limits on the number of waves, and on the pauses between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConvergenceOptions {
    /// Most waves; the first one counts.
    pub max_waves: u32,
    /// Shortest pause between two waves.
    pub min_gap: Duration,
    /// Longest pause that the request of a node causes, and longest wait of a wave for reruns.
    pub max_delay: Duration,
    /// A node has converged only after a run that changed nothing.
    pub strict: bool,
}

impl Default for ConvergenceOptions {
    fn default() -> Self {
        Self {
            max_waves: MAX_WAVES,
            min_gap: Duration::ZERO,
            max_delay: MAX_DELAY,
            strict: false,
        }
    }
}

impl From<&ConvergenceLimits> for ConvergenceOptions {
    fn from(limits: &ConvergenceLimits) -> Self {
        let default = Self::default();
        Self {
            max_waves: limits.max_waves.unwrap_or(default.max_waves),
            min_gap: limits.min_gap.map_or(default.min_gap, Duration::from_secs),
            max_delay: limits
                .max_delay
                .map_or(default.max_delay, Duration::from_secs),
            strict: limits.strict,
        }
    }
}
