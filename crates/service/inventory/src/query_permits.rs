//! Limits on simultaneous queries: [`QueryPermits`].
//!
//! Invariants: users and the engine have separate limits, so that no query of a user delays the
//! start of a job; a query that cannot run within a time fails with an error.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::QueryError;

/// The party on whose behalf a query runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryOrigin {
    /// A user, who reads the answer.
    User,
    /// The server itself: the nodes of a job, their environments, the report of a run.
    Engine,
}

/// The numbers of queries that may run at once, by [`QueryOrigin`].
#[derive(Debug)]
pub(crate) struct QueryPermits {
    users: Arc<Semaphore>,
    engine: Arc<Semaphore>,
}

impl QueryPermits {
    pub(crate) fn new(people: usize, engine: usize) -> Self {
        Self {
            users: Arc::new(Semaphore::new(people)),
            engine: Arc::new(Semaphore::new(engine)),
        }
    }

    /// Waits for a permit, in the order of the calls. The permit is held until it is dropped.
    pub(crate) async fn acquire(
        &self,
        asker: QueryOrigin,
        patience: Duration,
    ) -> Result<OwnedSemaphorePermit, QueryError> {
        let places = match asker {
            QueryOrigin::User => &self.users,
            QueryOrigin::Engine => &self.engine,
        };
        let place = Arc::clone(places).acquire_owned();
        match tokio::time::timeout(patience, place).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) => Err(QueryError::ShuttingDown),
            Err(_) => Err(QueryError::Busy(patience)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QueryErrorOrigin;

    const PATIENCE: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn whoever_finds_no_place_is_told_and_the_others_places_are_free() {
        for (asker, other) in [
            (QueryOrigin::User, QueryOrigin::Engine),
            (QueryOrigin::Engine, QueryOrigin::User),
        ] {
            let places = QueryPermits::new(2, 2);
            let first = places.acquire(asker, PATIENCE).await.unwrap();
            let _second = places.acquire(asker, PATIENCE).await.unwrap();
            let began = tokio::time::Instant::now();
            let refused = places.acquire(asker, PATIENCE).await.unwrap_err();
            assert!(matches!(refused, QueryError::Busy(PATIENCE)), "{refused}");
            assert_eq!(refused.origin(), QueryErrorOrigin::Busy);
            assert_eq!(began.elapsed(), PATIENCE);

            drop(places.acquire(other, Duration::ZERO).await.unwrap());
            drop(first);
            drop(places.acquire(asker, Duration::ZERO).await.unwrap());
        }
    }
}
