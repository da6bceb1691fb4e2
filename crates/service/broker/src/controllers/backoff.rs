//! Pauses between attempts to connect to a controller.
//!
//! Invariant: pauses double up to a maximum, with jitter, and attempts never end.

use std::time::Duration;

use rand::Rng;

#[derive(Debug)]
pub(super) struct ControllerBackoff {
    first: Duration,
    max: Duration,
    next: Duration,
}

impl ControllerBackoff {
    pub(super) fn new(first: Duration, max: Duration) -> Self {
        Self {
            first,
            max,
            next: first,
        }
    }

    /// The next pause: between half and one and a half times the nominal one.
    pub(super) fn next_pause(&mut self, random: &mut impl Rng) -> Duration {
        let nominal = self.next.min(self.max);
        self.next = nominal.saturating_mul(2).min(self.max);
        nominal.mul_f64(0.5 + f64::from(random.next_u32()) / f64::from(u32::MAX))
    }

    pub(super) fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_to_the_maximum_within_their_jitter() {
        let (first, max) = (Duration::from_millis(200), Duration::from_secs(15));
        let mut backoff = ControllerBackoff::new(first, max);
        let mut random = rand::rng();
        for nominal_ms in [200, 400, 800, 1_600, 3_200, 6_400, 12_800, 15_000, 15_000] {
            let pause = backoff.next_pause(&mut random).as_millis();
            assert!(
                (nominal_ms / 2..=nominal_ms * 3 / 2).contains(&pause),
                "{pause}"
            );
        }
        backoff.reset();
        assert!(backoff.next_pause(&mut random) <= first * 3 / 2);
    }
}
