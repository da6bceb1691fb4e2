//! The end of a lease before its time: [`LeaseRelease`].
//!
//! Invariant: a lease without an end that another one replaced ends with that one, unless it is to be restored.

use uuid::Uuid;

use super::StoredLease;
use super::released::LeaseReleaser;

/// A request to end a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeaseRelease {
    pub(super) lease: Uuid,
    /// The lease that this one replaced comes back.
    pub(super) restore: bool,
    pub(super) by: LeaseReleaser,
}

/// The effect on the lease of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReleaseOutcome {
    /// The node has another lease, which stays.
    Unknown,
    /// The node has no lease any more.
    Ended {
        /// The lease that ends too.
        replaced: Option<Uuid>,
    },
    /// The node has this lease from now on.
    Left(Box<StoredLease>),
}

// === impl LeaseRelease ===

impl LeaseRelease {
    /// Decides over the stored lease, which may be over: a release that comes late, after the replaced lease is back, counts
    /// for that one too.
    pub(super) fn apply(&self, stored: StoredLease) -> ReleaseOutcome {
        let replaced = stored.replaced.as_ref().map(|replaced| replaced.lease);
        if stored.lease == self.lease {
            return match self.restore {
                true => stored
                    .into_replaced()
                    .map_or(ReleaseOutcome::Ended { replaced: None }, |lease| {
                        ReleaseOutcome::Left(Box::new(lease))
                    }),
                false => ReleaseOutcome::Ended { replaced },
            };
        }
        match replaced == Some(self.lease) {
            true => ReleaseOutcome::Left(Box::new(StoredLease {
                replaced: None,
                ..stored
            })),
            false => ReleaseOutcome::Unknown,
        }
    }
}
