//! Limit of log lines about refused messages of one session: [`RefusalLog`].
//!
//! A state machine without a clock: the caller passes the time. Invariant: the number of log lines
//! is bounded, however many refusals a client causes; refusals that are left out are counted, and
//! the count is logged.

use std::time::Instant;

use crate::defaults::{REFUSALS_LOGGED, REFUSALS_WINDOW};

#[derive(Debug, Default)]
pub(crate) struct RefusalLog {
    window: Option<RefusalWindow>,
}

#[derive(Debug)]
struct RefusalWindow {
    start: Instant,
    refusals: u64,
}

/// Decision about the log line of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalLogEntry {
    /// Log the refusal, and before it the number that was left out since the last one.
    Write { left_out: u64 },
    /// Log that this and further refusals are left out.
    FirstSuppressed,
    /// Log nothing.
    Suppressed,
}

impl RefusalLog {
    pub(crate) fn record_refusal(&mut self, now: Instant) -> RefusalLogEntry {
        let current = |window: &&mut RefusalWindow| {
            now.saturating_duration_since(window.start) < REFUSALS_WINDOW
        };
        if let Some(window) = self.window.as_mut().filter(current) {
            window.refusals += 1;
            return match window.suppressed_count() {
                0 => RefusalLogEntry::Write { left_out: 0 },
                1 => RefusalLogEntry::FirstSuppressed,
                _ => RefusalLogEntry::Suppressed,
            };
        }
        let left_out = self.suppressed_count();
        self.window = Some(RefusalWindow {
            start: now,
            refusals: 1,
        });
        RefusalLogEntry::Write { left_out }
    }

    /// Number of refusals that were left out and not reported yet.
    pub(crate) fn suppressed_count(&self) -> u64 {
        self.window
            .as_ref()
            .map_or(0, RefusalWindow::suppressed_count)
    }
}

impl RefusalWindow {
    fn suppressed_count(&self) -> u64 {
        self.refusals.saturating_sub(REFUSALS_LOGGED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_are_written_and_the_rest_is_counted() {
        let mut log = RefusalLog::default();
        let start = Instant::now();
        let written = RefusalLogEntry::Write { left_out: 0 };
        for _ in 0..REFUSALS_LOGGED {
            assert_eq!(log.record_refusal(start), written);
        }
        assert_eq!(log.record_refusal(start), RefusalLogEntry::FirstSuppressed);
        for _ in 0..1_000 {
            assert_eq!(log.record_refusal(start), RefusalLogEntry::Suppressed);
        }
        assert_eq!(log.suppressed_count(), 1_001);
        let later = start + REFUSALS_WINDOW;
        assert_eq!(
            log.record_refusal(later),
            RefusalLogEntry::Write { left_out: 1_001 }
        );
        // The number is reported once, and the next window has its full limit.
        for _ in 1..REFUSALS_LOGGED {
            assert_eq!(log.record_refusal(later), written);
        }
        assert_eq!(log.suppressed_count(), 0);
    }

    #[test]
    fn a_refusal_now_and_then_is_always_written() {
        let mut log = RefusalLog::default();
        let mut now = Instant::now();
        for _ in 0..100 {
            assert_eq!(
                log.record_refusal(now),
                RefusalLogEntry::Write { left_out: 0 }
            );
            now += REFUSALS_WINDOW / 5;
        }
    }
}
