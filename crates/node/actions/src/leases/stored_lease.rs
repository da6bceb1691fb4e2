//! The lease that an orchestrator wants this node to hold: [`StoredLease`], the content of `lease.json`.
//!
//! Invariant: a lease with an end is over with the boot in which it was granted, and the wall clock has no part in it.

use std::time::Duration;

use jiff::{Timestamp, Unit};
use pxp::action::HoldLeaseParams;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::defaults::{LEASE_JOB_CHARS, LEASE_REQUESTER_CHARS, LEASE_TTL_MAX, REASON_CHARS};
use crate::spool::ClockReading;

/// A lease as stored on the node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredLease {
    pub(crate) lease: Uuid,
    /// Number of the orchestrator's job.
    pub(crate) job: String,
    pub(crate) reason: String,
    /// Address of the orchestrator that requested the lease.
    pub(crate) requester: String,
    /// `None` for a lease that lasts until it is released, also over a restart of the node.
    pub(crate) end: Option<LeaseEnd>,
    /// The lease without an end that this one with an end replaced. It comes back when this one is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) replaced: Option<Box<StoredLease>>,
}

/// The end of a lease by the clock since boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LeaseEnd {
    pub(crate) boot_id: String,
    /// Milliseconds since boot.
    pub(crate) boot_ms: u64,
}

/// The time that a lease has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseTerm {
    Over,
    Ends(Duration),
    UntilReleased,
}

// === impl StoredLease ===

impl StoredLease {
    /// The lease that a request asks for. Texts are shortened to one printable line.
    pub(super) fn new(params: &HoldLeaseParams, requester: &str, now: &ClockReading) -> Self {
        let end = params.ttl_s.map(|seconds| {
            let ttl = Duration::from_secs(u64::from(seconds.max(1))).min(LEASE_TTL_MAX);
            LeaseEnd {
                boot_id: now.boot_id.clone(),
                boot_ms: to_milliseconds(now.since_boot + ttl),
            }
        });
        Self {
            lease: params.lease,
            job: to_line(&params.job, LEASE_JOB_CHARS),
            reason: to_line(&params.reason, REASON_CHARS),
            requester: to_line(requester, LEASE_REQUESTER_CHARS),
            end,
            replaced: None,
        }
    }

    /// The lease of a node that has the lease `current` when the request arrives. A renewal that arrives late gives no end
    /// to a lease that was made to last.
    pub(crate) fn requested(
        params: &HoldLeaseParams,
        requester: &str,
        now: &ClockReading,
        current: Option<&Self>,
    ) -> Self {
        match current {
            Some(current)
                if current.lease == params.lease
                    && current.is_lasting()
                    && params.ttl_s.is_some() =>
            {
                current.clone()
            }
            _ => Self::new(params, requester, now).replacing(current),
        }
    }

    /// This lease in the place of the one that the node has. If this one has an end, the lease without one is kept for the
    /// time after it.
    fn replacing(mut self, current: Option<&Self>) -> Self {
        self.replaced = match current {
            _ if self.is_lasting() => None,
            None => None,
            Some(current) if current.is_lasting() => Some(Box::new(current.clone())),
            Some(current) => current.replaced.clone(),
        };
        self
    }

    /// The lease that counts now: this one, or the one that it replaced; `None` if both are over.
    pub(crate) fn into_current(self, now: &ClockReading) -> Option<Self> {
        match self.is_over(now) {
            true => self.into_replaced(),
            false => Some(self),
        }
    }

    /// The lease without an end that this one replaced.
    pub(crate) fn into_replaced(self) -> Option<Self> {
        let mut replaced = *self.replaced.filter(|it| it.is_lasting())?;
        replaced.replaced = None;
        Some(replaced)
    }

    /// True for a lease that lasts until it is released.
    pub(crate) fn is_lasting(&self) -> bool {
        self.end.is_none()
    }

    /// The time left. An end that no request can have set counts as reached.
    pub(crate) fn term(&self, now: &ClockReading) -> LeaseTerm {
        let Some(end) = &self.end else {
            return LeaseTerm::UntilReleased;
        };
        let left = Duration::from_millis(end.boot_ms).saturating_sub(now.since_boot);
        if end.boot_id != now.boot_id || left.is_zero() || left > LEASE_TTL_MAX {
            return LeaseTerm::Over;
        }
        LeaseTerm::Ends(left)
    }

    pub(crate) fn is_over(&self, now: &ClockReading) -> bool {
        self.term(now) == LeaseTerm::Over
    }

    /// The end by the wall clock; `None` for a lease that lasts until it is released.
    pub(crate) fn ends_at(&self, now: &ClockReading) -> Option<Timestamp> {
        let LeaseTerm::Ends(left) = self.term(now) else {
            return None;
        };
        let end = Timestamp::try_from(now.wall.checked_add(left)?).ok()?;
        end.round(Unit::Second).ok()
    }

    /// `the lease of job 12 (reason)`.
    pub(crate) fn name(&self) -> String {
        let Self { job, reason, .. } = self;
        match reason.is_empty() {
            true => format!("the lease of job {job}"),
            false => format!("the lease of job {job} ({reason})"),
        }
    }

    /// `until 2026-11-29T12:03:00Z`, or `until it is released`.
    pub(crate) fn describe_end(&self, now: &ClockReading) -> String {
        match self.ends_at(now) {
            Some(end) => format!("until {end}"),
            None => "until it is released".to_owned(),
        }
    }
}

pub(super) fn to_milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// One short line without control characters.
fn to_line(text: &str, max_chars: usize) -> String {
    let line = text
        .chars()
        .map(|it| if it.is_control() { ' ' } else { it });
    line.take(max_chars).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::SystemTime;

    use super::*;

    pub(in crate::leases) fn clock(seconds: u64, boot_id: &str) -> ClockReading {
        ClockReading {
            wall: SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_953_780),
            boot_id: boot_id.to_owned(),
            since_boot: Duration::from_secs(seconds),
        }
    }

    pub(in crate::leases) fn params(lease: u128, ttl_s: Option<u32>) -> HoldLeaseParams {
        HoldLeaseParams {
            lease: Uuid::from_u128(lease),
            job: "12".to_owned(),
            reason: "release of the shop".to_owned(),
            ttl_s,
        }
    }

    #[test]
    fn a_lease_ends_by_the_clock_since_boot() {
        let granted = clock(100, "boot");
        let lease = StoredLease::new(&params(1, Some(60)), "pcp://o/server", &granted);
        let left = |seconds| lease.term(&clock(seconds, "boot"));
        assert_eq!(left(100), LeaseTerm::Ends(Duration::from_secs(60)));
        assert_eq!(left(159), LeaseTerm::Ends(Duration::from_secs(1)));
        assert_eq!(left(160), LeaseTerm::Over);
        assert_eq!(left(100_000), LeaseTerm::Over);
        let mut set_forward = clock(130, "boot");
        set_forward.wall += Duration::from_secs(86_400);
        assert_eq!(
            lease.term(&set_forward),
            LeaseTerm::Ends(Duration::from_secs(30))
        );
    }

    #[test]
    fn a_reboot_ends_a_lease_unless_it_lasts_until_released() {
        let granted = clock(100, "boot");
        let lease = StoredLease::new(&params(1, Some(60)), "o", &granted);
        assert!(lease.is_over(&clock(100, "next")));
        assert!(
            lease.is_over(&clock(5, "next")),
            "also if the clock is lower"
        );
        let lasting = StoredLease::new(&params(1, None), "o", &granted);
        assert_eq!(lasting.term(&clock(5, "next")), LeaseTerm::UntilReleased);
        assert_eq!(lasting.describe_end(&granted), "until it is released");
    }

    #[test]
    fn the_time_of_a_lease_is_bounded() {
        let now = clock(100, "boot");
        let lease = |ttl| StoredLease::new(&params(1, Some(ttl)), "o", &now);
        assert_eq!(lease(u32::MAX).term(&now), LeaseTerm::Ends(LEASE_TTL_MAX));
        assert_eq!(lease(0).term(&now), LeaseTerm::Ends(Duration::from_secs(1)));
        let mut forged = lease(60);
        forged.end.as_mut().expect("an end").boot_ms = u64::MAX;
        assert!(forged.is_over(&now), "no request can have set this end");
    }

    #[test]
    fn texts_are_one_short_printable_line() {
        let hostile = HoldLeaseParams {
            job: "1\n2".repeat(1000),
            reason: "\u{1b}[2Jgone\r\n".repeat(100_000),
            ..params(1, None)
        };
        let lease = StoredLease::new(&hostile, &"x".repeat(5000), &clock(1, "boot"));
        for (text, limit) in [
            (&lease.job, LEASE_JOB_CHARS),
            (&lease.reason, REASON_CHARS),
            (&lease.requester, LEASE_REQUESTER_CHARS),
        ] {
            assert_eq!(text.chars().count(), limit);
            assert!(!text.chars().any(char::is_control), "{text:?}");
        }
    }

    #[test]
    fn a_lease_is_described_for_people() {
        let now = clock(100, "boot");
        let lease = StoredLease::new(&params(1, Some(60)), "o", &now);
        assert_eq!(lease.name(), "the lease of job 12 (release of the shop)");
        assert_eq!(lease.describe_end(&now), "until 2026-11-29T12:04:00Z");
        let silent = StoredLease {
            reason: String::new(),
            ..lease
        };
        assert_eq!(silent.name(), "the lease of job 12");
    }
}
