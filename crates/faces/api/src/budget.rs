//! Limits of a scarce resource for all clients and for each: [`ClientBudget`],
//! [`BudgetReservation`].
//!
//! Invariant: no client gets more than its part, so a client that uses up its own part leaves the
//! rest to others; and every wait has a timeout.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::defaults::{
    BODY_BUDGET_BYTES, BODY_IDENTITY_BYTES, SMALL_BODY_BUDGET_BYTES, SMALL_BODY_BYTES,
    SMALL_BODY_IDENTITY_BYTES,
};

/// A limit for all clients together, and one for each.
#[derive(Debug)]
pub(crate) struct ClientBudget {
    all: Arc<Semaphore>,
    each: usize,
    /// The parts of the clients that currently hold a reservation.
    parts: Mutex<HashMap<String, Weak<Semaphore>>>,
}

/// A reserved part of a budget, returned when dropped.
#[derive(Debug)]
pub(crate) struct BudgetReservation {
    all: OwnedSemaphorePermit,
    _own: OwnedSemaphorePermit,
}

/// The reservation did not succeed within the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BudgetExhausted {
    /// The client has reached its own limit.
    ClientLimit,
    /// Other clients use the whole budget.
    TotalLimit,
}

/// Memory for request bodies, in KiB. Small bodies have a separate budget, so that logins and stops
/// are handled while catalogs arrive slowly.
#[derive(Debug)]
pub(crate) struct BodyBudgets {
    small: ClientBudget,
    large: ClientBudget,
}

// === impl ClientBudget ===

impl ClientBudget {
    /// A budget of `all` units, of which one client may have `each`.
    pub(crate) fn new(all: usize, each: usize) -> Self {
        Self {
            all: Arc::new(Semaphore::new(all)),
            each,
            parts: Mutex::default(),
        }
    }

    /// Reserves a share of client `who` that may become `units`, if the client's part has them free
    /// within `wait`. It takes nothing of the budget of all clients until it [grows](Self::grow): a
    /// body that is only announced delays no other client.
    pub(crate) async fn share(
        &self,
        who: &str,
        units: u32,
        wait: Duration,
    ) -> Result<BudgetReservation, BudgetExhausted> {
        let own = self.client_semaphore(who).acquire_many_owned(units);
        let own = tokio::time::timeout(wait, own).await;
        let own = own
            .ok()
            .and_then(Result::ok)
            .ok_or(BudgetExhausted::ClientLimit)?;
        let all = Arc::clone(&self.all).try_acquire_many_owned(0);
        let all = all.map_err(|_| BudgetExhausted::TotalLimit)?;
        Ok(BudgetReservation { all, _own: own })
    }

    /// Takes `units` for `share` from the budget of all clients, if they are free within `wait`.
    pub(crate) async fn grow(
        &self,
        share: &mut BudgetReservation,
        units: u32,
        wait: Duration,
    ) -> Result<(), BudgetExhausted> {
        let held = u32::try_from(share.all.num_permits()).unwrap_or(u32::MAX);
        let more = units.saturating_sub(held);
        if more == 0 {
            return Ok(());
        }
        let all = Arc::clone(&self.all).acquire_many_owned(more);
        let all = tokio::time::timeout(wait, all).await;
        let all = all
            .ok()
            .and_then(Result::ok)
            .ok_or(BudgetExhausted::TotalLimit)?;
        share.all.merge(all);
        Ok(())
    }

    /// Reserves one unit for client `who`, if it is free now.
    pub(crate) fn reserve_one(&self, who: &str) -> Result<BudgetReservation, BudgetExhausted> {
        let own = self.client_semaphore(who).try_acquire_owned();
        let own = own.map_err(|_| BudgetExhausted::ClientLimit)?;
        let all = Arc::clone(&self.all).try_acquire_owned();
        let all = all.map_err(|_| BudgetExhausted::TotalLimit)?;
        Ok(BudgetReservation { all, _own: own })
    }

    fn client_semaphore(&self, who: &str) -> Arc<Semaphore> {
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

// === impl BodyBudgets ===

impl BodyBudgets {
    /// Budgets of the sizes in [`crate::defaults`].
    pub(crate) fn new() -> Self {
        Self {
            small: ClientBudget::new(
                SMALL_BODY_BUDGET_BYTES / 1_024,
                SMALL_BODY_IDENTITY_BYTES / 1_024,
            ),
            large: ClientBudget::new(BODY_BUDGET_BYTES / 1_024, BODY_IDENTITY_BYTES / 1_024),
        }
    }

    /// Reserves memory for a body of client `who` that becomes `bytes` long, if the client's part
    /// has it free within `wait`.
    pub(crate) async fn share(
        &self,
        who: &str,
        bytes: usize,
        wait: Duration,
    ) -> Result<BudgetReservation, BudgetExhausted> {
        let (budget, most) = self.budget_for_size(bytes);
        budget.share(who, to_kilobytes(bytes.min(most)), wait).await
    }

    /// Takes memory for the first `arrived_bytes` of a body that becomes `bytes` long.
    pub(crate) async fn grow(
        &self,
        share: &mut BudgetReservation,
        bytes: usize,
        arrived_bytes: usize,
        wait: Duration,
    ) -> Result<(), BudgetExhausted> {
        let (budget, most) = self.budget_for_size(bytes);
        let units = to_kilobytes(arrived_bytes.min(most));
        budget.grow(share, units, wait).await
    }

    /// The budget for bodies of `bytes`, and the longest body that it counts.
    fn budget_for_size(&self, bytes: usize) -> (&ClientBudget, usize) {
        match bytes <= SMALL_BODY_BYTES {
            true => (&self.small, SMALL_BODY_BYTES),
            false => (&self.large, BODY_IDENTITY_BYTES),
        }
    }
}

fn to_kilobytes(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1_024)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    #[tokio::test]
    async fn one_who_has_his_part_leaves_the_rest_to_others() {
        let budget = ClientBudget::new(3, 2);
        let had = budget.share("ann", 2, NOW).await.unwrap();
        assert_eq!(
            budget.reserve_one("ann").unwrap_err(),
            BudgetExhausted::ClientLimit
        );
        let refused = budget.share("ann", 1, NOW).await;
        assert_eq!(refused.unwrap_err(), BudgetExhausted::ClientLimit);
        let mut had = had;
        budget.grow(&mut had, 2, NOW).await.unwrap();
        let other = budget.reserve_one("bob").unwrap();
        assert_eq!(
            budget.reserve_one("bob").unwrap_err(),
            BudgetExhausted::TotalLimit
        );
        let mut refused = budget.share("bob", 1, NOW).await.unwrap();
        let grown = budget.grow(&mut refused, 1, NOW).await;
        assert_eq!(grown.unwrap_err(), BudgetExhausted::TotalLimit);
        drop(refused);
        drop(had);
        budget.share("ann", 2, NOW).await.unwrap();
        drop(other);
        budget.reserve_one("cid").unwrap();
        assert_eq!(budget.parts.lock().unwrap().len(), 1, "nobody is kept");
    }

    #[tokio::test]
    async fn who_waits_gets_what_comes_free() {
        let budget = Arc::new(ClientBudget::new(1, 1));
        let had = budget.reserve_one("ann").unwrap();
        let wait = Duration::from_secs(60);
        let mut share = budget.share("bob", 1, wait).await.unwrap();
        let waits = budget.grow(&mut share, 1, wait);
        tokio::pin!(waits);
        assert!(futures_util::poll!(&mut waits).is_pending());
        drop(had);
        waits.await.unwrap();
    }

    #[tokio::test]
    async fn large_bodies_take_nothing_from_small_ones() {
        let bodies = BodyBudgets::new();
        let mut held = Vec::new();
        let most = BODY_IDENTITY_BYTES;
        for who in 0..BODY_BUDGET_BYTES / BODY_IDENTITY_BYTES {
            let share = bodies.share(&who.to_string(), most, NOW).await;
            let mut share = share.unwrap();
            bodies.grow(&mut share, most, most, NOW).await.unwrap();
            held.push(share);
        }
        let mut late = bodies.share("late", most, NOW).await.unwrap();
        let refused = bodies.grow(&mut late, most, 1, NOW).await;
        assert_eq!(refused.unwrap_err(), BudgetExhausted::TotalLimit);
        let refused = bodies.share("0", SMALL_BODY_BYTES + 1, NOW).await;
        assert_eq!(refused.unwrap_err(), BudgetExhausted::ClientLimit);
        let small = bodies.share("late", SMALL_BODY_BYTES, NOW).await;
        let (all, mut small) = (SMALL_BODY_BYTES, small.unwrap());
        bodies.grow(&mut small, all, all, NOW).await.unwrap();
        bodies.share("0", 0, NOW).await.unwrap();
    }

    #[tokio::test]
    async fn what_is_announced_takes_nothing_from_others() {
        let bodies = BodyBudgets::new();
        let mut announced = Vec::new();
        for who in 0..100 {
            let share = bodies
                .share(&who.to_string(), BODY_IDENTITY_BYTES, NOW)
                .await;
            announced.push(share.unwrap());
        }
        let all = BODY_IDENTITY_BYTES;
        let mut honest = bodies.share("honest", all, NOW).await.unwrap();
        bodies.grow(&mut honest, all, all, NOW).await.unwrap();
    }
}
