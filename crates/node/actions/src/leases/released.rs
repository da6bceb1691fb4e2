//! The newest leases that were released on this node: [`ReleasedLeases`], the content of `released.json`.
//!
//! Invariant: a request that arrives late cannot hold a lease of this list again.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::defaults::RELEASED_LEASES;

/// Released leases, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReleasedLeases {
    leases: Vec<ReleasedLease>,
}

/// One released lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ReleasedLease {
    lease: Uuid,
    by: LeaseReleaser,
}

/// The side that released a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum LeaseReleaser {
    Orchestrator,
    /// An administrator, with `tutti-agent lease release`.
    Administrator,
}

// === impl ReleasedLeases ===

impl ReleasedLeases {
    /// Adds a lease. If it was released before, the first release counts.
    pub(super) fn add(&mut self, lease: Uuid, by: LeaseReleaser) {
        let known = self.leases.iter().position(|it| it.lease == lease);
        let added = match known {
            Some(index) => self.leases.remove(index),
            None => ReleasedLease { lease, by },
        };
        self.leases.push(added);
        let surplus = self.leases.len().saturating_sub(RELEASED_LEASES);
        self.leases.drain(..surplus);
    }

    /// The reason for which a lease cannot be held again; `None` if it was not released.
    pub(super) fn explain(&self, lease: Uuid) -> Option<&'static str> {
        let found = self.leases.iter().find(|it| it.lease == lease)?;
        Some(match found.by {
            LeaseReleaser::Orchestrator => "the lease was released, and cannot be held again",
            LeaseReleaser::Administrator => {
                "an administrator released the lease on the node (`tutti-agent lease release`), \
                 and it cannot be held again"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_releases_are_kept() {
        let mut released = ReleasedLeases::default();
        let count = u128::try_from(RELEASED_LEASES).expect("a small number");
        for lease in 0..=count {
            released.add(Uuid::from_u128(lease), LeaseReleaser::Orchestrator);
        }
        assert_eq!(released.leases.len(), RELEASED_LEASES);
        assert_eq!(released.explain(Uuid::from_u128(0)), None);
        for lease in 1..=count {
            assert!(released.explain(Uuid::from_u128(lease)).is_some());
        }
    }

    #[test]
    fn a_lease_takes_one_place_and_keeps_its_first_reason() {
        let mut released = ReleasedLeases::default();
        let lease = Uuid::from_u128(1);
        released.add(lease, LeaseReleaser::Administrator);
        for _ in 0..2 * RELEASED_LEASES {
            released.add(lease, LeaseReleaser::Orchestrator);
        }
        assert_eq!(released.leases.len(), 1);
        let why = released.explain(lease).expect("it was released");
        assert!(why.contains("tutti-agent lease release"), "{why}");
    }
}
