//! Logging of failed handshakes: [`HandshakeFailures`].
//!
//! Invariant: each failure is logged at `debug` only, since any client can cause thousands of them;
//! at `info` there is at most one line in [`HANDSHAKE_SUMMARY_INTERVAL`], with their number.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Instant;

use crate::defaults::HANDSHAKE_SUMMARY_INTERVAL;

/// Failures that no log line has reported yet.
#[derive(Debug, Default)]
pub(crate) struct HandshakeFailures(Mutex<FailureCount>);

#[derive(Debug, Default)]
struct FailureCount {
    unreported: u64,
    reported_at: Option<Instant>,
}

impl HandshakeFailures {
    /// Records one more failure.
    pub(crate) fn record(&self, client: SocketAddr, why: &dyn std::fmt::Display) {
        tracing::debug!(%client, %why, "TLS handshake failed");
        let due = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .add(Instant::now());
        if let Some(failures) = due {
            tracing::info!(failures, last_client = %client, last_error = %why,
                "TLS handshakes failed; at most one such line a minute, https=debug logs each");
        }
    }
}

impl FailureCount {
    /// Returns the number to report now, if a log line is due.
    fn add(&mut self, now: Instant) -> Option<u64> {
        self.unreported += 1;
        let quiet = self.reported_at.is_some_and(|told_at| {
            now.saturating_duration_since(told_at) < HANDSHAKE_SUMMARY_INTERVAL
        });
        if quiet {
            return None;
        }
        self.reported_at = Some(now);
        Some(std::mem::take(&mut self.unreported))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_told_at_once_and_the_others_together() {
        let (mut count, start) = (FailureCount::default(), Instant::now());
        assert_eq!(count.add(start), Some(1));
        for _ in 0..1000 {
            assert_eq!(count.add(start + HANDSHAKE_SUMMARY_INTERVAL / 2), None);
        }
        assert_eq!(count.add(start + HANDSHAKE_SUMMARY_INTERVAL), Some(1001));
        assert_eq!(count.add(start + HANDSHAKE_SUMMARY_INTERVAL), None);
    }
}
