//! Reruns of nodes over all jobs of waves: [`RerunBudget`]. No I/O and no clock.
//!
//! Each node has a token bucket, and the fleet has another one. A rerun takes a token of both when its wave starts; a wave
//! that waits holds none. Invariants:
//! - in any time `t`, no node has more reruns than `burst + t * per_hour`, nor has the fleet;
//! - a node is left out only if its bucket, or that of the fleet, stays empty for longer than the wave may wait;
//! - a node that is left out takes no token, and full buckets are forgotten.

use std::collections::HashMap;
use std::time::Duration;

const HOUR_NANOSECONDS: u64 = 3_600_000_000_000;

/// Size of a token bucket, and tokens by which it is filled up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RerunRate {
    /// Tokens of a full bucket, at least 1.
    pub burst: u32,
    /// Tokens that an hour adds, at least 1.
    pub per_hour: u32,
}

/// Limits of reruns over all jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RerunLimits {
    /// The reruns of each node.
    pub node: RerunRate,
    /// The reruns of all nodes together.
    pub fleet: RerunRate,
}

/// The buckets that are not full. Times count from any moment that is the same in all calls.
#[derive(Debug)]
pub struct RerunBudget {
    limits: RerunLimits,
    /// By certname, the time at which the bucket of the node is full again.
    nodes: HashMap<String, Duration>,
    /// The time at which the bucket of the fleet is full again.
    fleet: Duration,
}

/// A node of a wave that is about to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RerunCandidate {
    pub certname: String,
    /// Another node of the wave, without which this one does not run.
    pub waits_for: Option<String>,
}

/// The answer to a wave that is about to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RerunAnswer {
    /// Nothing starts now, and no token was taken.
    Wait(RerunWait),
    /// All nodes start now but these. The others have taken their tokens.
    Start { left_out: Vec<LeftOutNode> },
}

/// The time after which the nodes that are not left out may have their tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RerunWait {
    pub pause: Duration,
    /// The node that has its token last; `None` if it is the fleet.
    pub last: Option<String>,
}

/// A node that has no rerun in the time for which its wave may wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOutNode {
    pub certname: String,
    pub reason: LeftOutReason,
}

/// The reason for which a node is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftOutReason {
    /// Its own bucket is empty; it has a token after this time.
    Node(Duration),
    /// The bucket of the fleet is empty; it has a token after this time.
    Fleet(Duration),
    /// This node is left out, for which it waits.
    WaitsFor(String),
}

/// A node that may be in the wave.
struct Admissible {
    certname: String,
    /// The time at which its bucket is full, and the node for which it waits, or itself: a node comes after that for which
    /// it waits, and nodes with many reruns after others.
    order: (Duration, String, bool),
    full_at: Duration,
}

// === impl RerunRate ===

impl RerunRate {
    /// Time in which a token comes, rounded up so that there are never more than `per_hour` of them.
    fn interval(self) -> Duration {
        Duration::from_nanos(HOUR_NANOSECONDS.div_ceil(self.per_hour.max(1).into()))
    }

    /// The earliest time, not before `now`, at which the bucket has so many tokens; there are at most `burst`.
    fn earliest(self, full_at: Duration, tokens: u32, now: Duration) -> Duration {
        let missing = self.interval() * self.burst.saturating_sub(tokens);
        full_at.saturating_sub(missing).max(now)
    }

    /// Number of tokens in the bucket.
    fn available(self, full_at: Duration, at: Duration) -> u32 {
        let interval = self.interval();
        let missing = full_at.saturating_sub(at).as_nanos();
        let missing = missing.div_ceil(interval.as_nanos());
        let missing = u32::try_from(missing).unwrap_or(u32::MAX);
        self.burst.saturating_sub(missing)
    }

    /// The time at which the bucket is full again after so many tokens were taken.
    fn take(self, full_at: Duration, tokens: u32, now: Duration) -> Duration {
        full_at.max(now) + self.interval() * tokens
    }
}

// === impl RerunBudget ===

impl RerunBudget {
    /// A budget whose buckets are full.
    pub fn new(limits: RerunLimits) -> Self {
        Self {
            limits,
            nodes: HashMap::new(),
            fleet: Duration::ZERO,
        }
    }

    /// Takes the tokens of a wave, or returns the time for which it has to wait. `now` is never earlier than in the call
    /// before; the wave waits no longer than `longest_wait`.
    pub fn draw(
        &mut self,
        now: Duration,
        wave: Vec<RerunCandidate>,
        longest_wait: Duration,
    ) -> RerunAnswer {
        self.nodes.retain(|_, full_at| *full_at > now);
        let until = now.saturating_add(longest_wait);
        let (admissible, mut left_out) = self.admit_nodes(now, wave, until);
        let room = self.limits.fleet.available(self.fleet, until);
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let mut admitted = admissible;
        let excess = admitted.split_off(room.min(admitted.len()));
        if let Some(wait) = self.wait_of(now, &admitted) {
            return RerunAnswer::Wait(wait);
        }
        let tokens = u32::try_from(admitted.len()).unwrap_or(u32::MAX);
        if tokens > 0 {
            self.fleet = self.limits.fleet.take(self.fleet, tokens, now);
        }
        for node in admitted {
            let full_at = self.limits.node.take(node.full_at, 1, now);
            self.nodes.insert(node.certname, full_at);
        }
        let next = self.limits.fleet.earliest(self.fleet, 1, now);
        left_out.extend(excess.into_iter().map(|node| LeftOutNode {
            certname: node.certname,
            reason: LeftOutReason::Fleet(next.saturating_sub(now)),
        }));
        RerunAnswer::Start { left_out }
    }

    /// Number of buckets of nodes that are kept; it shows tests that full ones are not.
    pub fn buckets(&self) -> usize {
        self.nodes.len()
    }

    /// The nodes that have a token of their own by `until`, in the order in which they get those of the fleet, and the
    /// others.
    fn admit_nodes(
        &self,
        now: Duration,
        wave: Vec<RerunCandidate>,
        until: Duration,
    ) -> (Vec<Admissible>, Vec<LeftOutNode>) {
        let rate = self.limits.node;
        let full_at = |certname: &str| self.nodes.get(certname).copied().unwrap_or_default();
        let earliest = |certname: &str| rate.earliest(full_at(certname), 1, now);
        let (mut admissible, mut left_out) = (Vec::new(), Vec::new());
        for RerunCandidate {
            certname,
            waits_for,
        } in wave
        {
            let own = earliest(&certname);
            let lost = waits_for
                .as_deref()
                .filter(|&other| earliest(other) > until);
            let reason = match lost {
                _ if own > until => LeftOutReason::Node(own.saturating_sub(now)),
                Some(other) => LeftOutReason::WaitsFor(other.to_owned()),
                None => {
                    let is_waiting = waits_for.is_some();
                    let first = waits_for.unwrap_or_else(|| certname.clone());
                    admissible.push(Admissible {
                        full_at: full_at(&certname),
                        order: (full_at(&first), first, is_waiting),
                        certname,
                    });
                    continue;
                }
            };
            left_out.push(LeftOutNode { certname, reason });
        }
        admissible.sort_by(|one, other| one.order.cmp(&other.order));
        (admissible, left_out)
    }

    /// The time until all of these nodes have their tokens, if there is any.
    fn wait_of(&self, now: Duration, nodes: &[Admissible]) -> Option<RerunWait> {
        let rate = self.limits.node;
        let tokens = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
        let fleet = match tokens {
            0 => now,
            _ => self.limits.fleet.earliest(self.fleet, tokens, now),
        };
        let own = nodes
            .iter()
            .map(|node| (rate.earliest(node.full_at, 1, now), node));
        let slowest = own.max_by_key(|(at, _)| *at);
        let (at, last) = match slowest {
            Some((at, node)) if at > fleet => (at, Some(node.certname.clone())),
            _ => (fleet, None),
        };
        let pause = at.saturating_sub(now);
        (!pause.is_zero()).then_some(RerunWait { pause, last })
    }
}
