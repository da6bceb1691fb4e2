//! Detection of a broker that is gone although its TCP connection is not.
//!
//! [`Keepalive`] is a pure state machine over instants. A ping is sent every `interval`; anything
//! received afterwards answers it. After a miss the next ping follows at once, so a half-open
//! connection is detected within `interval + (allowed + 1) * pong_timeout` and not after several
//! intervals. Invariant: a ping that is still waiting behind a large outgoing message is not
//! counted as missed.

use std::time::Duration;

use tokio::time::Instant;

/// Intervals of pings, and the number of misses allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepaliveConfig {
    /// Time between two pings.
    pub interval: Duration,
    /// Time limit of an answer.
    pub pong_timeout: Duration,
    /// Number of misses in a row that are allowed.
    pub allowed_misses: u32,
}

/// Next step of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepaliveStep {
    /// Nothing to do before this instant.
    Wait(Instant),
    /// Nothing to do until [`Keepalive::record_ping_written`] is called.
    WaitForWriter,
    /// Write a ping now.
    Ping,
    /// The broker is gone: this many pings in a row are unanswered.
    Dead {
        /// Number of unanswered pings in a row.
        missed: u32,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeepaliveState {
    Quiet { ping_at: Instant },
    Queued,
    Asked { sent: Instant, deadline: Instant },
}

/// Keepalive state of one connection.
#[derive(Debug)]
pub struct Keepalive {
    config: KeepaliveConfig,
    state: KeepaliveState,
    missed: u32,
}

// === impl KeepaliveConfig ===

impl KeepaliveConfig {
    /// Longest time without received data on a connection that lasts, if the agent is awake.
    pub fn longest_silence(&self) -> Duration {
        let pings = self.allowed_misses.saturating_add(1);
        let unanswered = self.pong_timeout.saturating_mul(pings);
        self.interval.saturating_add(unanswered)
    }
}

// === impl Keepalive ===

impl Keepalive {
    /// The state of a connection that was established at `now`.
    pub fn new(config: KeepaliveConfig, now: Instant) -> Self {
        Self {
            config,
            state: KeepaliveState::Quiet {
                ping_at: now + config.interval,
            },
            missed: 0,
        }
    }

    /// Advances to `now` and returns the next step.
    pub fn poll(&mut self, now: Instant) -> KeepaliveStep {
        match self.state {
            KeepaliveState::Queued => KeepaliveStep::WaitForWriter,
            KeepaliveState::Quiet { ping_at } if now < ping_at => KeepaliveStep::Wait(ping_at),
            KeepaliveState::Asked { deadline, .. } if now < deadline => {
                KeepaliveStep::Wait(deadline)
            }
            KeepaliveState::Quiet { .. } => {
                self.state = KeepaliveState::Queued;
                KeepaliveStep::Ping
            }
            KeepaliveState::Asked { .. } => {
                self.missed += 1;
                if self.missed > self.config.allowed_misses {
                    return KeepaliveStep::Dead {
                        missed: self.missed,
                    };
                }
                self.state = KeepaliveState::Queued;
                KeepaliveStep::Ping
            }
        }
    }

    /// Records that the ping requested by [`KeepaliveStep::Ping`] has reached the socket.
    pub fn record_ping_written(&mut self, now: Instant) {
        if self.state == KeepaliveState::Queued {
            self.state = KeepaliveState::Asked {
                sent: now,
                deadline: now + self.config.pong_timeout,
            };
        }
    }

    /// Records that data was received.
    pub fn record_received(&mut self) {
        self.missed = 0;
        if let KeepaliveState::Asked { sent, .. } = self.state {
            self.state = KeepaliveState::Quiet {
                ping_at: sent + self.config.interval,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: KeepaliveConfig = KeepaliveConfig {
        interval: Duration::from_secs(120),
        pong_timeout: Duration::from_secs(5),
        allowed_misses: 2,
    };

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn an_answered_ping_is_followed_by_the_next_one_interval_later() {
        let start = Instant::now();
        let mut keepalive = Keepalive::new(CONFIG, start);
        assert_eq!(
            keepalive.poll(start),
            KeepaliveStep::Wait(start + seconds(120))
        );
        assert_eq!(keepalive.poll(start + seconds(120)), KeepaliveStep::Ping);
        assert_eq!(
            keepalive.poll(start + seconds(120)),
            KeepaliveStep::WaitForWriter
        );
        keepalive.record_ping_written(start + seconds(121));
        assert_eq!(
            keepalive.poll(start + seconds(121)),
            KeepaliveStep::Wait(start + seconds(126))
        );
        keepalive.record_received();
        assert_eq!(
            keepalive.poll(start + seconds(126)),
            KeepaliveStep::Wait(start + seconds(241))
        );
    }

    #[test]
    fn a_dead_broker_is_noticed_after_the_allowed_misses_and_one() {
        let start = Instant::now();
        let mut now = start + seconds(120);
        let mut keepalive = Keepalive::new(CONFIG, start);
        for _ in 0..=CONFIG.allowed_misses {
            assert_eq!(keepalive.poll(now), KeepaliveStep::Ping);
            keepalive.record_ping_written(now);
            now += seconds(5);
        }
        assert_eq!(keepalive.poll(now), KeepaliveStep::Dead { missed: 3 });
        assert_eq!(now - start, seconds(120 + 3 * 5));
        assert_eq!(now - start, CONFIG.longest_silence());
    }

    #[test]
    fn anything_received_forgives_the_misses() {
        let start = Instant::now();
        let mut now = start + seconds(120);
        let mut keepalive = Keepalive::new(CONFIG, start);
        for _ in 0..20 {
            assert_eq!(keepalive.poll(now), KeepaliveStep::Ping);
            keepalive.record_ping_written(now);
            now += seconds(5);
            assert_eq!(keepalive.poll(now), KeepaliveStep::Ping, "one miss");
            keepalive.record_ping_written(now);
            keepalive.record_received();
            now += seconds(120);
        }
    }

    #[test]
    fn a_ping_behind_a_large_message_is_not_missed() {
        let start = Instant::now();
        let mut keepalive = Keepalive::new(CONFIG, start);
        assert_eq!(keepalive.poll(start + seconds(120)), KeepaliveStep::Ping);
        for later in [200, 1_000, 10_000] {
            assert_eq!(
                keepalive.poll(start + seconds(later)),
                KeepaliveStep::WaitForWriter
            );
        }
    }

    #[test]
    fn with_no_allowance_one_miss_is_enough() {
        let start = Instant::now();
        let mut keepalive = Keepalive::new(
            KeepaliveConfig {
                allowed_misses: 0,
                ..CONFIG
            },
            start,
        );
        let now = start + seconds(120);
        assert_eq!(keepalive.poll(now), KeepaliveStep::Ping);
        keepalive.record_ping_written(now);
        assert_eq!(
            keepalive.poll(now + seconds(5)),
            KeepaliveStep::Dead { missed: 1 }
        );
    }
}
