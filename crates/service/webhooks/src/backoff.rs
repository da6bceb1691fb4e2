//! Computes the pause after failures: [`retry_delay`]. Uses no clock and no randomness of its own.

use std::time::Duration;

use crate::defaults::{BACKOFF_MAX, BACKOFF_MIN};

/// The pause after `failures` in a row (1 or more). `jitter` is between 0 and 1 and shortens it by
/// up to a half, so that receivers behind one proxy are not called at the same time.
pub(crate) fn retry_delay(failures: u32, jitter: f64) -> Duration {
    let doubled = BACKOFF_MIN.saturating_mul(1 << failures.saturating_sub(1).min(20));
    let full = doubled.min(BACKOFF_MAX);
    full.mul_f64(1.0 - jitter.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_and_end_at_the_longest() {
        let waits: Vec<_> = (1..=10)
            .map(|failures| retry_delay(failures, 0.0).as_secs())
            .collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
        assert_eq!(retry_delay(u32::MAX, 0.0), BACKOFF_MAX);
    }

    proptest::proptest! {
        #[test]
        fn jitter_stays_within_a_half(failures in 1u32..100, jitter in 0f64..1f64) {
            let (waited, full) = (retry_delay(failures, jitter), retry_delay(failures, 0.0));
            proptest::prop_assert!(waited <= full && waited * 2 >= full);
        }
    }
}
