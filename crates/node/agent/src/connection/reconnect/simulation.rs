//! Simulation of [`ReconnectPolicy`] against a broker that restarts, on a virtual clock.
//!
//! A [`Timeline`] gives the times at which the broker's port is open; agents connect, are closed or
//! cut, and reconnect. No test here sleeps.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{ConnectionEnding, ReconnectPolicy};
use crate::connection::backoff::BackoffLimits;
use crate::connection::brokers::BrokerList;

/// Way in which the broker ends its connections when it stops.
#[derive(Debug, Clone, Copy)]
enum Stop {
    /// By a close frame with code 1001 (going away).
    GoodBye,
    /// `kill -9`: the connections break.
    Cut,
}

/// The times at which the broker is up, in seconds; between them its port refuses.
struct Timeline {
    up: Vec<(f64, f64)>,
    stop: Stop,
}

/// Seconds from TCP to the end of the upgrade.
const HANDSHAKE: f64 = 0.3;

impl Timeline {
    /// The end of the time in which the broker is up at `now`.
    fn until(&self, now: f64) -> Option<f64> {
        let up = self
            .up
            .iter()
            .find(|(from, to)| (*from..*to).contains(&now));
        up.map(|(_, to)| *to)
    }

    /// The times of one agent's connection attempts with their success, until it is connected
    /// permanently or `horizon` is reached.
    fn attempts(&self, seed: u64, horizon: f64) -> Vec<(f64, bool)> {
        let uris = vec!["wss://b/pcp2/".parse().expect("an address")];
        let brokers = BrokerList::new(uris).expect("one");
        let mut policy = ReconnectPolicy::new(brokers, BackoffLimits::default());
        let mut rng = StdRng::seed_from_u64(seed);
        let (mut now, mut attempts) = (0.0, Vec::new());
        while now < horizon {
            let ending = match self.until(now) {
                None => {
                    attempts.push((now, false));
                    ConnectionEnding::PortClosed
                }
                Some(to) if now + HANDSHAKE > to => {
                    attempts.push((now, false));
                    now = to;
                    ConnectionEnding::NotConnected
                }
                Some(to) => {
                    attempts.push((now, true));
                    if to >= horizon {
                        return attempts;
                    }
                    let lived = Duration::from_secs_f64(to - now - HANDSHAKE);
                    now = to;
                    match self.stop {
                        Stop::GoodBye => ConnectionEnding::BrokerStopping { lived },
                        Stop::Cut => ConnectionEnding::Lost { lived },
                    }
                }
            };
            now += policy.record_ending(ending, &mut rng).as_secs_f64();
        }
        attempts
    }
}

#[test]
fn two_quick_restarts_do_not_keep_an_agent_away() {
    for seed in 0..2_000 {
        // Up for an hour, some restarts after some seconds each, then up permanently. Without a
        // close frame, and if the port is never found closed, the third in a row may be a crash
        // loop.
        for (stop, restarts) in [
            (Stop::GoodBye, 2),
            (Stop::GoodBye, 4),
            (Stop::Cut, 1),
            (Stop::Cut, 2),
        ] {
            let mut rng = StdRng::seed_from_u64(seed);
            let mut up = vec![(0.0, 3_600.0)];
            for _ in 1..restarts {
                let from = up.last().expect("not empty").1 + rng.random_range(0.1..20.0);
                up.push((from, from + rng.random_range(0.5..30.0)));
            }
            let back = up.last().expect("not empty").1 + rng.random_range(0.1..60.0);
            up.push((back, f64::MAX));
            let timeline = Timeline { up, stop };
            let attempts = timeline.attempts(seed, back + 600.0);
            let (at, connected) = *attempts.last().expect("it tries");
            assert!(connected, "seed {seed}, {stop:?}: {attempts:?}");
            let away = at + HANDSHAKE - back;
            assert!(away < 5.0, "seed {seed}, {stop:?}: away for {away:.1} s");
        }
    }
}

#[test]
fn five_thousand_agents_are_back_within_five_seconds_and_not_at_once() {
    const AGENTS: u64 = 5_000;
    for (outage, stop) in [
        (2.0, Stop::GoodBye),
        (2.0, Stop::Cut),
        (45.0, Stop::GoodBye),
        (300.0, Stop::Cut),
    ] {
        let back = 3_600.0 + outage;
        let timeline = Timeline {
            up: vec![(0.0, 3_600.0), (back, f64::MAX)],
            stop,
        };
        let mut tries = std::collections::HashMap::<u64, u32>::new();
        let mut handshakes = std::collections::HashMap::<u64, u32>::new();
        for seed in 0..AGENTS {
            for (at, connected) in timeline.attempts(seed, back + 60.0) {
                if at < 1.0 {
                    continue;
                }
                let second = at as u64;
                *tries.entry(second).or_default() += 1;
                if connected {
                    assert!(at - back < 5.0, "seed {seed}");
                    *handshakes.entry(second).or_default() += 1;
                }
            }
        }
        let most = |counts: &std::collections::HashMap<u64, u32>| counts.values().copied().max();
        assert!(most(&tries) <= Some(8_000), "connects: {:?}", most(&tries));
        let most = most(&handshakes);
        assert!(most <= Some(5_000), "handshakes per second: {most:?}");
        if outage > 10.0 {
            assert!(most <= Some(2_500), "handshakes per second: {most:?}");
        }
    }
}

/// A broker that announces its end again and again may be broken.
#[test]
fn a_broker_that_says_good_bye_for_ever_is_asked_less_and_less() {
    for seed in 0..200 {
        // Its port is always open, and every connection is over within a second.
        let up = (0..600).map(|n| (f64::from(n), f64::from(n + 1)));
        let timeline = Timeline {
            up: up.collect(),
            stop: Stop::GoodBye,
        };
        let attempts = timeline.attempts(seed, 600.0);
        let late = attempts.iter().filter(|(at, _)| *at > 300.0).count();
        assert!(late < 60, "seed {seed}: {late} attempts in five minutes");
    }
}
