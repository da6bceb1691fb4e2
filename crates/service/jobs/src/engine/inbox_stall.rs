//! Time in which the engine did not read the nodes' messages.
//!
//! [`InboxStall`] is without I/O; time is handed in. While the engine has no capacity for messages of
//! nodes, they wait in the inbox. Invariant: that time counts against no node.

use std::time::Duration;

use tokio::time::Instant;

/// The time since the last look in which the inbox was left unread.
#[derive(Debug, Default)]
pub(super) struct InboxStall {
    unread_since: Option<Instant>,
    unread_for: Duration,
}

// === impl InboxStall ===

impl InboxStall {
    /// Records that the inbox is read from now on, or not.
    pub(super) fn set_reading(&mut self, now: Instant, reads: bool) {
        let since = if reads {
            self.unread_since.take()
        } else {
            self.unread_since.replace(now)
        };
        self.unread_for += since.map_or(Duration::ZERO, |since| now - since);
    }

    /// Time for which the inbox was unread since the last look.
    pub(super) fn take_unread(&mut self, now: Instant) -> Duration {
        self.set_reading(now, self.unread_since.is_none());
        std::mem::take(&mut self.unread_for)
    }

    /// Discards the unread time, since there was no node to hear.
    pub(super) fn reset(&mut self) {
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
        let mut hearing = InboxStall::default();
        hearing.set_reading(at(0), true);
        hearing.set_reading(at(1), false);
        hearing.set_reading(at(3), false);
        hearing.set_reading(at(4), true);
        hearing.set_reading(at(10), false);
        assert_eq!(hearing.take_unread(at(11)), Duration::from_secs(4));
        assert_eq!(
            hearing.take_unread(at(13)),
            Duration::from_secs(2),
            "it still is"
        );
        hearing.set_reading(at(13), true);
        assert_eq!(hearing.take_unread(at(20)), Duration::ZERO);
    }

    #[test]
    fn what_was_before_anybody_spoke_is_forgotten() {
        let start = Instant::now();
        let mut hearing = InboxStall::default();
        hearing.set_reading(start, false);
        hearing.reset();
        assert_eq!(
            hearing.take_unread(start + Duration::from_secs(9)),
            Duration::ZERO
        );
    }
}
