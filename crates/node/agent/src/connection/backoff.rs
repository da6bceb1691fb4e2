//! Wait before the next connection attempt: [`ReconnectBackoff`].
//!
//! [`ReconnectBackoff`] is a pure state machine: cause in, wait out; randomness is passed in.
//! Invariant: the first wait after a settled connection is spread evenly over `spread`, so that a
//! fleet that lost its broker at the same instant does not reconnect at the same instant, and every
//! later wait is drawn between the cause's floor and three times the wait before it, never above
//! the cause's ceiling. While the broker's port is closed the waits are a separate, short series:
//! they double, half of each is random, and they end at a few seconds.

use std::time::Duration;

use rand::{Rng, RngExt};

use crate::defaults;

/// Reason for which the agent has to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReconnectCause {
    /// The connection broke, or an attempt did not lead to one.
    Lost,
    /// No process listens on the broker's port: most likely it is being started.
    PortClosed,
    /// The broker refused: it will refuse again until its rules or this agent's certificate change.
    Denied,
    /// Another agent with the same certname replaced this connection.
    Superseded,
}

/// Limits of the waits, all configurable so that tests need not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackoffLimits {
    /// Upper end of the first wait (its lower end is zero).
    pub spread: Duration,
    /// Lower end of every later wait.
    pub floor: Duration,
    /// Upper end of every wait after a lost connection.
    pub ceiling: Duration,
    /// Upper end of the waits while the broker's port is closed.
    pub closed_ceiling: Duration,
    /// Lower end of the wait after a refusal.
    pub denied_floor: Duration,
    /// Lower end of the wait after another agent replaced the connection.
    pub superseded_floor: Duration,
    /// Upper end after a refusal or a superseding.
    pub long_ceiling: Duration,
}

impl Default for BackoffLimits {
    fn default() -> Self {
        Self {
            spread: defaults::RECONNECT_SPREAD,
            floor: defaults::RECONNECT_FLOOR,
            ceiling: defaults::RECONNECT_CEILING,
            closed_ceiling: defaults::PORT_CLOSED_CEILING,
            denied_floor: defaults::DENIED_FLOOR,
            superseded_floor: defaults::SUPERSEDED_FLOOR,
            long_ceiling: defaults::RECONNECT_LONG_CEILING,
        }
    }
}

/// The waits since the last settled connection.
#[derive(Debug)]
pub struct ReconnectBackoff {
    limits: BackoffLimits,
    /// The last wait; `None` at the start of the series.
    previous: Option<Duration>,
    /// Upper end of the last wait for a closed port; `None` if it was not closed.
    closed: Option<Duration>,
}

// === impl ReconnectBackoff ===

impl ReconnectBackoff {
    /// Creates a series that has not begun.
    pub fn new(limits: BackoffLimits) -> Self {
        Self {
            limits,
            previous: None,
            closed: None,
        }
    }

    /// Restarts the series, because a connection lasted long enough to count as stable.
    pub fn reset(&mut self) {
        self.previous = None;
    }

    /// The next wait of the series.
    pub fn next_wait(&mut self, cause: ReconnectCause, rng: &mut impl Rng) -> Duration {
        let (floor, ceiling) = match cause {
            ReconnectCause::PortClosed => return self.next_while_closed(rng),
            ReconnectCause::Lost => (self.limits.floor, self.limits.ceiling),
            ReconnectCause::Denied => (self.limits.denied_floor, self.limits.long_ceiling),
            ReconnectCause::Superseded => (self.limits.superseded_floor, self.limits.long_ceiling),
        };
        let wait = match (self.previous, cause) {
            (None, ReconnectCause::Lost) => random_between(Duration::ZERO, self.limits.spread, rng),
            (previous, _) => {
                let upper = previous.unwrap_or(floor).max(floor).saturating_mul(3);
                random_between(floor, upper.min(ceiling), rng)
            }
        };
        self.previous = Some(wait);
        self.closed = None;
        wait
    }

    fn next_while_closed(&mut self, rng: &mut impl Rng) -> Duration {
        let upper = self.closed.map_or(self.limits.spread, |last| last * 2);
        let upper = upper.min(self.limits.closed_ceiling.min(self.limits.ceiling));
        self.closed = Some(upper);
        random_between(upper / 2, upper, rng)
    }

    /// A short wait outside of the series, before the next broker of the list is tried.
    pub fn step(&self, rng: &mut impl Rng) -> Duration {
        random_between(Duration::ZERO, self.limits.spread, rng)
    }
}

/// A wait drawn evenly from `low..=high`; `low` if the range is empty.
fn random_between(low: Duration, high: Duration, rng: &mut impl Rng) -> Duration {
    if high <= low {
        return low;
    }
    rng.random_range(low..=high)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    fn cause() -> impl Strategy<Value = ReconnectCause> {
        prop_oneof![
            4 => Just(ReconnectCause::Lost),
            1 => Just(ReconnectCause::Denied),
            1 => Just(ReconnectCause::Superseded),
        ]
    }

    proptest! {
        /// Waits for a closed port are short and half random, regardless of earlier waits, and the
        /// series of the other causes continues after them.
        #[test]
        fn waits_for_a_closed_port_are_short_and_leave_the_other_series_alone(
            before in prop::collection::vec(cause(), 0..10),
            times in 1_u32..20,
            seed: u64,
        ) {
            let limits = BackoffLimits::default();
            let mut backoff = ReconnectBackoff::new(limits);
            let mut rng = StdRng::seed_from_u64(seed);
            for cause in before {
                backoff.next_wait(cause, &mut rng);
            }
            let series = backoff.previous;
            let mut upper = limits.spread;
            for _ in 0..times {
                let wait = backoff.next_wait(ReconnectCause::PortClosed, &mut rng);
                prop_assert!(wait >= upper / 2 && wait <= upper, "{wait:?} of {upper:?}");
                upper = (upper * 2).min(limits.closed_ceiling);
            }
            prop_assert_eq!(backoff.previous, series);
        }
    }

    fn bounds(limits: &BackoffLimits, cause: ReconnectCause) -> (Duration, Duration) {
        match cause {
            ReconnectCause::PortClosed => (Duration::ZERO, limits.closed_ceiling),
            ReconnectCause::Lost => (limits.floor, limits.ceiling),
            ReconnectCause::Denied => (limits.denied_floor, limits.long_ceiling),
            ReconnectCause::Superseded => (limits.superseded_floor, limits.long_ceiling),
        }
    }

    proptest! {
        /// Every wait is within its cause's limits and at most three times
        /// the one before, whatever the order of causes.
        #[test]
        fn every_wait_is_bounded_by_its_cause_and_its_predecessor(
            causes in prop::collection::vec(cause(), 1..60),
            seed: u64,
        ) {
            let limits = BackoffLimits::default();
            let mut backoff = ReconnectBackoff::new(limits);
            let mut rng = StdRng::seed_from_u64(seed);
            let mut previous = None::<Duration>;
            for cause in causes {
                let wait = backoff.next_wait(cause, &mut rng);
                let (floor, ceiling) = bounds(&limits, cause);
                if previous.is_none() && cause == ReconnectCause::Lost {
                    prop_assert!(wait <= limits.spread);
                } else {
                    prop_assert!(wait >= floor && wait <= ceiling, "{cause:?} {wait:?}");
                    let upper = previous.unwrap_or(floor).max(floor) * 3;
                    prop_assert!(wait <= upper, "{wait:?} after {previous:?}");
                }
                previous = Some(wait);
            }
        }

        /// A reset restarts the series, regardless of its length.
        #[test]
        fn after_a_reset_the_first_wait_is_short_again(length in 0_usize..30, seed: u64) {
            let limits = BackoffLimits::default();
            let mut backoff = ReconnectBackoff::new(limits);
            let mut rng = StdRng::seed_from_u64(seed);
            for _ in 0..length {
                backoff.next_wait(ReconnectCause::Lost, &mut rng);
            }
            backoff.reset();
            prop_assert!(backoff.next_wait(ReconnectCause::Lost, &mut rng) <= limits.spread);
        }
    }

    #[test]
    fn a_fleet_is_spread_over_the_whole_first_second() {
        let limits = BackoffLimits::default();
        let mut tenths = [0; 10];
        for seed in 0..10_000 {
            let mut rng = StdRng::seed_from_u64(seed);
            let wait = ReconnectBackoff::new(limits).next_wait(ReconnectCause::Lost, &mut rng);
            let tenth = usize::try_from(wait.as_millis() / 100).expect("small");
            tenths[tenth.min(9)] += 1;
        }
        // Ten equal parts of about 1,000 each.
        assert!(tenths.iter().all(|n| (800..1200).contains(n)), "{tenths:?}");
    }

    #[test]
    fn failures_in_a_row_reach_the_ceiling_and_stay_spread_below_it() {
        let limits = BackoffLimits::default();
        let mut rng = StdRng::seed_from_u64(7);
        let mut backoff = ReconnectBackoff::new(limits);
        let waits: Vec<Duration> = (0..2_000)
            .map(|_| backoff.next_wait(ReconnectCause::Lost, &mut rng))
            .collect();
        let mean = waits.iter().sum::<Duration>() / 2_000;
        assert!(
            mean > limits.ceiling / 5,
            "the series does not grow: {mean:?}"
        );
        assert!(waits.iter().any(|wait| *wait > limits.ceiling.mul_f64(0.9)));
        assert!(
            waits.iter().any(|wait| *wait < limits.ceiling / 4),
            "no jitter"
        );
    }
}
