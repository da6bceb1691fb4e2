//! Who may have how much of something that there is little of: [`Budget`], [`Share`].
//!
//! The rule: nobody has more than his part, so one who takes all that he may leaves the rest to
//! others; and nobody waits without an end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::defaults::{
    BODY_BUDGET_BYTES, BODY_IDENTITY_BYTES, SMALL_BODY_BUDGET_BYTES, SMALL_BODY_BYTES,
    SMALL_BODY_IDENTITY_BYTES,
};

/// So much for all, and so much for each.
#[derive(Debug)]
pub(crate) struct Budget {
    all: Arc<Semaphore>,
    each: usize,
    /// Only of those who have something now.
    parts: Mutex<HashMap<String, Weak<Semaphore>>>,
}

/// What somebody has; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    _all: OwnedSemaphorePermit,
    _own: OwnedSemaphorePermit,
}

/// There was nothing left in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exhausted {
    /// He has as much as one may have.
    Own,
    /// Others have it.
    All,
}

/// Memory for request bodies, in KiB. Small ones have theirs apart: logins and stops must go
/// through while catalogs arrive slowly.
#[derive(Debug)]
pub(crate) struct Bodies {
    small: Budget,
    large: Budget,
}

// === impl Budget ===

impl Budget {
    /// `all` units, of which one may have `each`.
    pub(crate) fn new(all: usize, each: usize) -> Self {
        Self {
            all: Arc::new(Semaphore::new(all)),
            each,
            parts: Mutex::default(),
        }
    }

    /// `units` for `who`, if they come free within `wait`.
    pub(crate) async fn share(
        &self,
        who: &str,
        units: u32,
        wait: Duration,
    ) -> Result<Share, Exhausted> {
        let until = tokio::time::Instant::now() + wait;
        let own = self.part(who).acquire_many_owned(units);
        let own = tokio::time::timeout_at(until, own).await;
        let own = own.ok().and_then(Result::ok).ok_or(Exhausted::Own)?;
        let all = Arc::clone(&self.all).acquire_many_owned(units);
        let all = tokio::time::timeout_at(until, all).await;
        let all = all.ok().and_then(Result::ok).ok_or(Exhausted::All)?;
        Ok(Share {
            _all: all,
            _own: own,
        })
    }

    /// One unit for `who`, if it is free now.
    pub(crate) fn one(&self, who: &str) -> Result<Share, Exhausted> {
        let own = self.part(who).try_acquire_owned();
        let own = own.map_err(|_| Exhausted::Own)?;
        let all = Arc::clone(&self.all).try_acquire_owned();
        let all = all.map_err(|_| Exhausted::All)?;
        Ok(Share {
            _all: all,
            _own: own,
        })
    }

    fn part(&self, who: &str) -> Arc<Semaphore> {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(part) = parts.get(who).and_then(Weak::upgrade) {
            return part;
        }
        parts.retain(|_, part| part.strong_count() > 0);
        let part = Arc::new(Semaphore::new(self.each));
        parts.insert(who.to_owned(), Arc::downgrade(&part));
        part
    }
}

// === impl Bodies ===

impl Bodies {
    /// As [`crate::defaults`] says.
    pub(crate) fn new() -> Self {
        Self {
            small: Budget::new(
                SMALL_BODY_BUDGET_BYTES / 1_024,
                SMALL_BODY_IDENTITY_BYTES / 1_024,
            ),
            large: Budget::new(BODY_BUDGET_BYTES / 1_024, BODY_IDENTITY_BYTES / 1_024),
        }
    }

    /// Memory for `bytes` of `who`, if it comes free within `wait`.
    pub(crate) async fn share(
        &self,
        who: &str,
        bytes: usize,
        wait: Duration,
    ) -> Result<Share, Exhausted> {
        let (budget, most) = match bytes <= SMALL_BODY_BYTES {
            true => (&self.small, SMALL_BODY_BYTES),
            false => (&self.large, BODY_IDENTITY_BYTES),
        };
        let kilobytes = u32::try_from(bytes.min(most).div_ceil(1_024)).unwrap_or(u32::MAX);
        budget.share(who, kilobytes, wait).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    #[tokio::test]
    async fn one_who_has_his_part_leaves_the_rest_to_others() {
        let budget = Budget::new(3, 2);
        let had = budget.share("ann", 2, NOW).await.unwrap();
        assert_eq!(budget.one("ann").unwrap_err(), Exhausted::Own);
        let refused = budget.share("ann", 1, NOW).await;
        assert_eq!(refused.unwrap_err(), Exhausted::Own);
        let other = budget.one("bob").unwrap();
        assert_eq!(budget.one("bob").unwrap_err(), Exhausted::All);
        let refused = budget.share("bob", 1, NOW).await;
        assert_eq!(refused.unwrap_err(), Exhausted::All);
        drop(had);
        budget.share("ann", 2, NOW).await.unwrap();
        drop(other);
        budget.one("cid").unwrap();
        assert_eq!(budget.parts.lock().unwrap().len(), 1, "nobody is kept");
    }

    #[tokio::test]
    async fn who_waits_gets_what_comes_free() {
        let budget = Arc::new(Budget::new(1, 1));
        let had = budget.one("ann").unwrap();
        let wait = Duration::from_secs(60);
        let waits = budget.share("bob", 1, wait);
        tokio::pin!(waits);
        assert!(futures_util::poll!(&mut waits).is_pending());
        drop(had);
        waits.await.unwrap();
    }

    #[tokio::test]
    async fn large_bodies_take_nothing_from_small_ones() {
        let bodies = Bodies::new();
        let mut held = Vec::new();
        for who in 0..BODY_BUDGET_BYTES / BODY_IDENTITY_BYTES {
            let who = who.to_string();
            let share = bodies.share(&who, BODY_IDENTITY_BYTES, NOW).await;
            held.push(share.unwrap());
        }
        let refused = bodies.share("late", BODY_IDENTITY_BYTES, NOW).await;
        assert_eq!(refused.unwrap_err(), Exhausted::All);
        let refused = bodies.share("0", SMALL_BODY_BYTES + 1, NOW).await;
        assert_eq!(refused.unwrap_err(), Exhausted::Own);
        bodies.share("late", SMALL_BODY_BYTES, NOW).await.unwrap();
        bodies.share("0", 0, NOW).await.unwrap();
    }
}
