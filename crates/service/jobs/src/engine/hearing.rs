//! Time in which the engine did not read the nodes' messages.
//!
//! [`Hearing`] is without I/O; time is handed in. While the engine has no capacity for messages of
//! nodes, they wait in the inbox. Invariant: that time counts against no node.

use std::time::Duration;

use tokio::time::Instant;

/// The time since the last look in which the inbox was left unread.
#[derive(Debug, Default)]
pub(super) struct Hearing {
    deaf_since: Option<Instant>,
    deaf_for: Duration,
}

// === impl Hearing ===

impl Hearing {
    /// Records that the inbox is read from now on, or not.
    pub(super) fn turn(&mut self, now: Instant, reads: bool) {
        let since = if reads {
            self.deaf_since.take()
        } else {
            self.deaf_since.replace(now)
        };
        self.deaf_for += since.map_or(Duration::ZERO, |since| now - since);
    }

    /// Time for which the inbox was unread since the last look.
    pub(super) fn look(&mut self, now: Instant) -> Duration {
        self.turn(now, self.deaf_since.is_none());
        std::mem::take(&mut self.deaf_for)
    }

    /// Discards the unread time, since there was no node to hear.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deaf_times_add_up_and_are_told_once() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut hearing = Hearing::default();
        hearing.turn(at(0), true);
        hearing.turn(at(1), false);
        hearing.turn(at(3), false);
        hearing.turn(at(4), true);
        hearing.turn(at(10), false);
        assert_eq!(hearing.look(at(11)), Duration::from_secs(4));
        assert_eq!(hearing.look(at(13)), Duration::from_secs(2), "it still is");
        hearing.turn(at(13), true);
        assert_eq!(hearing.look(at(20)), Duration::ZERO);
    }

    #[test]
    fn what_was_before_anybody_spoke_is_forgotten() {
        let start = Instant::now();
        let mut hearing = Hearing::default();
        hearing.turn(start, false);
        hearing.forget();
        assert_eq!(hearing.look(start + Duration::from_secs(9)), Duration::ZERO);
    }
}
