//! Faults of simulated nodes and their links. Main type: [`Faults`].

use std::time::Duration;

use jiff::SignedDuration;
use rand::RngExt as _;

/// Probabilities are per message, 0.0 to 1.0; the default has no faults.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Duration of an action.
    pub action_time: Duration,
    /// Probability that an outcome or provisional response is lost (the spool still has the
    /// outcome).
    pub lose: f64,
    /// Probability that a response is sent twice.
    pub duplicate: f64,
    /// Probability that the outcome is sent before the provisional response.
    pub reorder: f64,
    /// Probability that the connection is cut right after a request was received.
    pub kill: f64,
    /// Probability that the action fails with exit code 1.
    pub fail: f64,
    /// Offset of the node's clock, negative if it is behind. It affects the expiry in PCP v1
    /// messages.
    pub clock_skew: SignedDuration,
}

/// Decides at random if an event with this probability happens.
pub(crate) fn happens(chance: f64, random: &mut rand::rngs::SmallRng) -> bool {
    chance > 0.0 && random.random_bool(chance.min(1.0))
}
