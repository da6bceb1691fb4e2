//! What goes wrong on simulated nodes and their links. Main type: [`Faults`].

use std::time::Duration;

use jiff::SignedDuration;
use rand::RngExt as _;

/// Chances are per message, 0.0 to 1.0; the default is a perfect world.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// How long an action takes.
    pub action_time: Duration,
    /// An outcome or provisional response is lost on the way (the spool still has the outcome).
    pub lose: f64,
    /// A response is sent twice.
    pub duplicate: f64,
    /// The outcome overtakes the provisional response.
    pub reorder: f64,
    /// The connection is cut right after a request came in.
    pub kill: f64,
    /// The action fails with exit code 1.
    pub fail: f64,
    /// How far the node's clock is ahead (negative: behind). It shows in what PCP v1 messages say
    /// of their expiry.
    pub clock_skew: SignedDuration,
}

/// Whether something with this chance happens now.
pub(crate) fn happens(chance: f64, random: &mut rand::rngs::SmallRng) -> bool {
    chance > 0.0 && random.random_bool(chance.min(1.0))
}
