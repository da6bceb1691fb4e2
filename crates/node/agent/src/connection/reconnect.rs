//! Next step after the end of a connection, or of an attempt: [`ReconnectPolicy`].
//!
//! [`ReconnectPolicy`] combines the list of brokers with the back-off; it is pure, so that the
//! whole policy is tested as a table, and against brokers that restart on a virtual clock
//! (`simulation`). Invariants: no ending, however often it repeats, makes the agent give up; a
//! broker that announces its end, or whose port is closed, has its agents back within seconds of
//! its return; any other ending that repeats makes the waits grow.

use std::time::Duration;

use rand::Rng;

use super::backoff::{BackoffLimits, ReconnectBackoff, ReconnectCause};
use super::brokers::{BrokerList, BrokerUri};
use crate::defaults;

/// End of an attempt or a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionEnding {
    /// No connection was established.
    NotConnected,
    /// No process listens on the broker's port.
    PortClosed,
    /// The broker announced that it stops (close code 1001, or 1012: it restarts), after the
    /// connection had existed for `lived`.
    BrokerStopping {
        /// Time between the finished upgrade and the end.
        lived: Duration,
    },
    /// The broker refused the agent: association denied, or the upgrade forbidden.
    Denied,
    /// The broker closed this connection for another one of the same name.
    Superseded,
    /// A connection that had existed for `lived` ended in any other way.
    Lost {
        /// Time between the finished upgrade and the end.
        lived: Duration,
    },
    /// The agent left for the preferred broker.
    ReturnedToPreferred,
}

/// The reconnection policy and its state.
#[derive(Debug)]
pub struct ReconnectPolicy {
    brokers: BrokerList,
    backoff: ReconnectBackoff,
    /// Duration after which a connection counts as settled.
    settled_after: Duration,
    /// Number of times that the back-off may still be reset before a connection settles.
    restarts_left: u32,
    /// True if the back-off was already reset for this absence of the broker.
    is_outage: bool,
    /// True if a port was closed in this round over the list.
    is_port_closed: bool,
}

// === impl ReconnectPolicy ===

impl ReconnectPolicy {
    /// Creates the policy in its initial state.
    pub fn new(brokers: BrokerList, limits: BackoffLimits) -> Self {
        Self {
            brokers,
            backoff: ReconnectBackoff::new(limits),
            settled_after: defaults::SETTLED_AFTER,
            restarts_left: defaults::QUICK_RESTARTS,
            is_outage: false,
            is_port_closed: false,
        }
    }

    /// Changes the duration after which a connection counts as settled.
    #[must_use]
    pub fn with_settled_after(mut self, settled_after: Duration) -> Self {
        self.settled_after = settled_after;
        self
    }

    /// The broker to try next.
    pub fn broker(&self) -> &BrokerUri {
        self.brokers.current()
    }

    /// The first broker of the list; `None` if it is the one in use.
    pub fn preferred_broker(&self) -> Option<&BrokerUri> {
        (!self.brokers.is_preferred()).then(|| self.brokers.preferred())
    }

    /// Records an ending; returns the wait before the next attempt at [`Self::broker`], which may
    /// have changed.
    pub fn record_ending(&mut self, ending: ConnectionEnding, rng: &mut impl Rng) -> Duration {
        match ending {
            ConnectionEnding::ReturnedToPreferred => {
                self.brokers.select_preferred();
                Duration::ZERO
            }
            ConnectionEnding::Lost { lived } | ConnectionEnding::BrokerStopping { lived }
                if lived >= self.settled_after =>
            {
                self.restarts_left = defaults::QUICK_RESTARTS;
                self.restart_backoff(rng)
            }
            ConnectionEnding::BrokerStopping { .. } if self.is_a_restart() => {
                self.restart_backoff(rng)
            }
            ConnectionEnding::PortClosed => {
                if !self.is_outage && self.is_a_restart() {
                    self.backoff.reset();
                }
                self.is_outage = true;
                self.is_port_closed = true;
                self.next_broker(ReconnectCause::PortClosed, rng)
            }
            ConnectionEnding::Superseded => self.backoff.next_wait(ReconnectCause::Superseded, rng),
            ConnectionEnding::Denied => self.next_broker(ReconnectCause::Denied, rng),
            // Connections that break soon after they are established count as failures: two agents
            // with one certname displace each other in this way on brokers that do not report it.
            ConnectionEnding::NotConnected => self.next_broker(ReconnectCause::Lost, rng),
            ConnectionEnding::Lost { .. } | ConnectionEnding::BrokerStopping { .. } => {
                self.is_outage = false;
                self.next_broker(ReconnectCause::Lost, rng)
            }
        }
    }

    /// Resets the back-off: most likely a stable broker restarts, so it gets the first attempt.
    fn restart_backoff(&mut self, rng: &mut impl Rng) -> Duration {
        self.is_outage = true;
        self.is_port_closed = false;
        self.brokers.record_settled();
        self.backoff.reset();
        self.backoff.next_wait(ReconnectCause::Lost, rng)
    }

    /// Consumes one of the resets that are allowed before a connection settles.
    fn is_a_restart(&mut self) -> bool {
        let left = self.restarts_left.checked_sub(1);
        self.restarts_left = left.unwrap_or(0);
        left.is_some()
    }

    fn next_broker(&mut self, cause: ReconnectCause, rng: &mut impl Rng) -> Duration {
        if self.brokers.record_failure() {
            // One broker of the list that is being started is reason enough to retry soon.
            let is_closed = std::mem::take(&mut self.is_port_closed);
            let cause = match cause {
                ReconnectCause::Lost if is_closed => ReconnectCause::PortClosed,
                cause => cause,
            };
            self.backoff.next_wait(cause, rng)
        } else {
            self.backoff.step(rng)
        }
    }
}

#[cfg(test)]
mod simulation;

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);
    const SHORT: Duration = Duration::from_millis(5);

    fn policy(brokers: usize) -> (ReconnectPolicy, StdRng) {
        let uris = (0..brokers)
            .map(|n| format!("wss://b{n}/pcp2/").parse().expect("an address"))
            .collect();
        let brokers = BrokerList::new(uris).expect("at least one");
        (
            ReconnectPolicy::new(brokers, BackoffLimits::default()),
            StdRng::seed_from_u64(1),
        )
    }

    #[test]
    fn a_good_broker_that_restarts_is_tried_first_and_soon() {
        let (mut policy, mut rng) = policy(2);
        policy.record_ending(ConnectionEnding::NotConnected, &mut rng);
        assert_eq!(policy.broker().host(), "b1");
        let wait = policy.record_ending(ConnectionEnding::Lost { lived: LONG }, &mut rng);
        assert_eq!(policy.broker().host(), "b1");
        assert!(wait <= defaults::RECONNECT_SPREAD, "{wait:?}");
    }

    #[test]
    fn an_unreachable_broker_makes_way_for_the_next_at_once() {
        let (mut policy, mut rng) = policy(3);
        let waits: Vec<_> = (0..2)
            .map(|_| policy.record_ending(ConnectionEnding::NotConnected, &mut rng))
            .collect();
        assert!(
            waits.iter().all(|wait| *wait <= defaults::RECONNECT_SPREAD),
            "{waits:?}"
        );
        assert_eq!(policy.broker().host(), "b2");
    }

    #[test]
    fn two_agents_with_one_name_on_a_broker_that_does_not_say_so_slow_down() {
        let (mut policy, mut rng) = policy(1);
        let waits: Vec<_> = (0..200)
            .map(|_| policy.record_ending(ConnectionEnding::Lost { lived: SHORT }, &mut rng))
            .collect();
        let late: Duration = waits[100..].iter().sum();
        assert!(
            late / 100 > defaults::RECONNECT_CEILING / 6,
            "{:?}",
            late / 100
        );
    }

    #[test]
    fn a_superseded_agent_stays_with_its_broker_and_waits_long() {
        let (mut policy, mut rng) = policy(2);
        let first = policy.record_ending(ConnectionEnding::Superseded, &mut rng);
        assert!(first >= defaults::SUPERSEDED_FLOOR, "{first:?}");
        assert_eq!(policy.broker().host(), "b0");
    }

    #[test]
    fn a_refusal_by_the_only_broker_is_not_asked_again_soon() {
        let (mut policy, mut rng) = policy(1);
        for _ in 0..50 {
            let wait = policy.record_ending(ConnectionEnding::Denied, &mut rng);
            assert!(wait >= defaults::DENIED_FLOOR, "{wait:?}");
            assert!(wait <= defaults::RECONNECT_LONG_CEILING, "{wait:?}");
        }
    }

    #[test]
    fn home_is_where_the_list_begins() {
        let (mut policy, mut rng) = policy(2);
        assert!(policy.preferred_broker().is_none());
        policy.record_ending(ConnectionEnding::NotConnected, &mut rng);
        assert_eq!(policy.preferred_broker().map(BrokerUri::host), Some("b0"));
        assert_eq!(
            policy.record_ending(ConnectionEnding::ReturnedToPreferred, &mut rng),
            Duration::ZERO
        );
        assert!(policy.preferred_broker().is_none());
    }
}
