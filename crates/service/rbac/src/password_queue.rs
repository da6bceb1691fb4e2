//! Fair queue of password checks: [`PasswordQueue`].
//!
//! Invariants: each source has its own queue and one check at a time, so a source that invents
//! names delays only itself. Requesters with a session or a client certificate have reserved
//! capacity that anonymous logins never use.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::HashError;
use crate::defaults::{
    DIRECTORY_QUESTIONS_PER_SOURCE, KNOWN_PASSWORD_CHECKS, PASSWORD_CHECKS, PASSWORD_QUEUE,
    PASSWORD_QUEUE_PER_SOURCE,
};
use crate::lockout::LoginSource;

/// Origin of a login attempt, from the connection.
#[derive(Clone, Debug, Default)]
pub struct LoginOrigin {
    /// Address of the connection. Headers of proxies do not count: any client can send them.
    pub address: Option<IpAddr>,
    /// Certname of the connection's verified client certificate.
    pub certname: Option<String>,
}

impl From<Option<IpAddr>> for LoginOrigin {
    fn from(address: Option<IpAddr>) -> Self {
        Self {
            address,
            certname: None,
        }
    }
}

/// The requester that a password check or hash counts for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PasswordRequester {
    /// A user with a session or a reset token, by id.
    User(String),
    /// The holder of a client certificate.
    Certificate(String),
    /// A login without session and client certificate.
    Anonymous(LoginSource),
}

/// The queues of all requesters; clones share them.
#[derive(Clone, Debug)]
pub(crate) struct PasswordQueue {
    anonymous: PasswordCheckLane,
    identified: PasswordCheckLane,
}

/// Requesters that share a number of concurrent checks.
#[derive(Clone, Debug)]
struct PasswordCheckLane {
    turns: Arc<Semaphore>,
    queue_permits: Arc<Semaphore>,
    /// Queues of the requesters that wait or have a turn.
    requesters: Arc<Mutex<HashMap<PasswordRequester, Weak<RequesterQueue>>>>,
}

#[derive(Debug)]
struct RequesterQueue {
    queue_permits: Arc<Semaphore>,
    turn_permit: Arc<Semaphore>,
    directory: Arc<Semaphore>,
}

/// An attempt in the queue. Dropping it frees its slot.
#[derive(Debug)]
pub(crate) struct QueuedAttempt {
    turns: Arc<Semaphore>,
    requester: Arc<RequesterQueue>,
    _places: [OwnedSemaphorePermit; 2],
}

/// Permit to check a password. Dropping it lets the next attempt proceed.
#[derive(Clone, Debug)]
pub(crate) struct PasswordTurn(
    #[expect(dead_code, reason = "held for its drop")] Arc<[OwnedSemaphorePermit; 2]>,
);

// === impl LoginOrigin ===

impl LoginOrigin {
    pub(crate) fn requester(&self) -> PasswordRequester {
        match &self.certname {
            Some(certname) => PasswordRequester::Certificate(certname.clone()),
            None => PasswordRequester::Anonymous(LoginSource::new(self.address)),
        }
    }
}

// === impl PasswordQueue ===

impl PasswordQueue {
    pub(crate) fn new() -> Self {
        Self {
            anonymous: PasswordCheckLane::new(PASSWORD_CHECKS),
            identified: PasswordCheckLane::new(KNOWN_PASSWORD_CHECKS),
        }
    }

    /// Adds an attempt to the queue of `requester`; fails if the queue is full.
    pub(crate) fn enter(&self, requester: PasswordRequester) -> Result<QueuedAttempt, HashError> {
        match requester {
            PasswordRequester::Anonymous(_) => self.anonymous.enter(requester),
            PasswordRequester::User(_) | PasswordRequester::Certificate(_) => {
                self.identified.enter(requester)
            }
        }
    }
}

// === impl PasswordCheckLane ===

impl PasswordCheckLane {
    fn new(turns: usize) -> Self {
        Self {
            turns: Arc::new(Semaphore::new(turns)),
            queue_permits: Arc::new(Semaphore::new(PASSWORD_QUEUE)),
            requesters: Arc::default(),
        }
    }

    fn enter(&self, requester: PasswordRequester) -> Result<QueuedAttempt, HashError> {
        let requester = self.queue_of(requester);
        let own = Arc::clone(&requester.queue_permits).try_acquire_owned();
        let own = own.map_err(|_| HashError::Busy)?;
        let all = Arc::clone(&self.queue_permits).try_acquire_owned();
        let all = all.map_err(|_| HashError::Busy)?;
        Ok(QueuedAttempt {
            turns: Arc::clone(&self.turns),
            requester,
            _places: [own, all],
        })
    }

    fn queue_of(&self, requester: PasswordRequester) -> Arc<RequesterQueue> {
        let requesters = self.requesters.lock();
        let mut requesters = requesters.unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = requesters.get(&requester).and_then(Weak::upgrade) {
            return queue;
        }
        requesters.retain(|_, queue| queue.strong_count() > 0);
        let queue = Arc::new(RequesterQueue {
            queue_permits: Arc::new(Semaphore::new(PASSWORD_QUEUE_PER_SOURCE)),
            turn_permit: Arc::new(Semaphore::new(1)),
            directory: Arc::new(Semaphore::new(DIRECTORY_QUESTIONS_PER_SOURCE)),
        });
        requesters.insert(requester, Arc::downgrade(&queue));
        queue
    }
}

// === impl QueuedAttempt ===

impl QueuedAttempt {
    /// Waits for a turn: first among the attempts of the same requester, then among all requesters,
    /// each of which has at most one attempt in the second queue.
    pub(crate) async fn wait_for_turn(&self) -> PasswordTurn {
        let own = acquire(&self.requester.turn_permit).await;
        let all = acquire(&self.turns).await;
        PasswordTurn(Arc::new([own, all]))
    }

    /// Waits for a turn to query a directory, among the attempts of the same requester.
    pub(crate) async fn wait_for_directory_turn(&self) -> OwnedSemaphorePermit {
        acquire(&self.requester.directory).await
    }
}

async fn acquire(turns: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    let turn = Arc::clone(turns).acquire_owned().await;
    turn.expect("turns are never closed")
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn source(last: u8) -> PasswordRequester {
        let address = IpAddr::from([192, 0, 2, last]);
        LoginOrigin::from(Some(address)).requester()
    }

    /// Attempts of one source until its queue is full.
    fn flood(queue: &PasswordQueue, requester: &PasswordRequester) -> Vec<QueuedAttempt> {
        let mut places = Vec::new();
        while let Ok(place) = queue.enter(requester.clone()) {
            places.push(place);
        }
        places
    }

    #[tokio::test]
    async fn one_source_with_invented_names_keeps_only_itself_waiting() {
        let queue = PasswordQueue::new();
        let places = flood(&queue, &source(1));
        assert_eq!(places.len(), PASSWORD_QUEUE_PER_SOURCE);
        let _held = places[0]
            .wait_for_turn()
            .now_or_never()
            .expect("the first has a turn");
        let mut waiting: Vec<_> = places[1..]
            .iter()
            .map(|p| Box::pin(p.wait_for_turn()))
            .collect();
        for wait in &mut waiting {
            assert!(wait.now_or_never().is_none());
        }
        // An attempt of another source gets a slot and a turn at once.
        let honest = queue.enter(source(2)).expect("a place");
        honest.wait_for_turn().now_or_never().expect("a turn");
    }

    #[tokio::test]
    async fn sessions_and_certificates_come_before_any_number_of_anonymous_logins() {
        let queue = PasswordQueue::new();
        let mut places = Vec::new();
        let mut last = 0;
        while let Ok(place) = queue.enter(source(last)) {
            places.push(place);
            last = last.wrapping_add(1);
        }
        assert_eq!(places.len(), PASSWORD_QUEUE, "the queue of all is full");
        let turns: Vec<_> = places
            .iter()
            .map_while(|p| p.wait_for_turn().now_or_never())
            .collect();
        assert_eq!(turns.len(), PASSWORD_CHECKS);
        for known in [
            PasswordRequester::User("id".to_owned()),
            PasswordRequester::Certificate("node.example".to_owned()),
        ] {
            let place = queue.enter(known).expect("a place");
            place.wait_for_turn().now_or_never().expect("a turn");
        }
    }

    #[tokio::test]
    async fn requesters_take_turns_and_who_leaves_makes_room() {
        let queue = PasswordQueue::new();
        let first = flood(&queue, &source(1));
        let second = queue.enter(source(2)).expect("a place");
        let third = queue.enter(source(3)).expect("a place");
        let held = [first[0].wait_for_turn().await, second.wait_for_turn().await];
        let mut behind = Box::pin(first[1].wait_for_turn());
        assert!((&mut behind).now_or_never().is_none());
        let mut honest = Box::pin(third.wait_for_turn());
        assert!((&mut honest).now_or_never().is_none());
        drop(held);
        assert!(
            honest.now_or_never().is_some(),
            "not behind all of the first"
        );
        drop(behind);
        drop(first);
        assert!(queue.enter(source(1)).is_ok());
    }
}
