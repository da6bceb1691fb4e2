//! Compilations for the plans of one owner, which wait for one another: [`PlanPlaces`].
//!
//! Steps of plans ask for the catalogs of many nodes at once. They wait here instead of being refused,
//! and enter the queue a few at a time.
//!
//! Invariant: the plans of an owner have no more compilations in the queue and in slots than their
//! part.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::queue::CompileCaller;

/// Places of the owners of plans.
#[derive(Debug)]
pub(super) struct PlanPlaces {
    /// Places of one owner.
    each: usize,
    /// Free places of owners whose plans have or want some.
    owners: Mutex<HashMap<String, Weak<Semaphore>>>,
}

/// A place, given back when dropped.
#[derive(Debug)]
pub(super) struct PlanPlace {
    _place: OwnedSemaphorePermit,
}

impl PlanPlaces {
    pub(super) fn new(each: usize) -> Self {
        Self {
            each,
            owners: Mutex::default(),
        }
    }

    /// Waits for a place of the plans' owner; `None` for other callers, which need none.
    pub(super) async fn acquire(&self, caller: &CompileCaller) -> Option<PlanPlace> {
        let CompileCaller::PlansOf(owner) = caller else {
            return None;
        };
        let place = self.of_owner(owner).acquire_owned().await;
        // it fails only for a closed semaphore, and none is closed
        place.ok().map(|place| PlanPlace { _place: place })
    }

    fn of_owner(&self, owner: &str) -> Arc<Semaphore> {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = owners.get(owner).and_then(Weak::upgrade) {
            return places;
        }
        owners.retain(|_, places| places.strong_count() > 0);
        let places = Arc::new(Semaphore::new(self.each));
        owners.insert(owner.to_owned(), Arc::downgrade(&places));
        places
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::{CompileCaller, PlanPlaces};

    fn plans_of(owner: &str) -> CompileCaller {
        CompileCaller::PlansOf(owner.to_owned())
    }

    #[tokio::test]
    async fn the_plans_of_an_owner_wait_for_one_another() {
        let places = PlanPlaces::new(2);
        let (ann, ben) = (plans_of("ann"), plans_of("ben"));
        let first = places.acquire(&ann).await.unwrap();
        let _second = places.acquire(&ann).await.unwrap();
        let third = places.acquire(&ann);
        tokio::pin!(third);
        assert!(third.as_mut().now_or_never().is_none(), "both are taken");
        let of_ben = places.acquire(&ben).now_or_never();
        assert!(of_ben.is_some_and(|place| place.is_some()));
        let user = CompileCaller::Client("ann".to_owned());
        let user = places.acquire(&user);
        assert!(user.now_or_never().is_some_and(|place| place.is_none()));
        drop(first);
        third.await.unwrap();
    }

    #[tokio::test]
    async fn owners_without_compilations_are_forgotten() {
        let places = PlanPlaces::new(1);
        for number in 0..10 {
            drop(places.acquire(&plans_of(&number.to_string())).await);
        }
        assert_eq!(places.owners.lock().unwrap().len(), 1);
    }
}
