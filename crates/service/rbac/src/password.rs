//! Hashes and checks passwords with argon2id, outside the async threads and a few at a time.
//!
//! Invariants: every check takes the same time, even for a login that does not exist, and every
//! check waits for its turn in the [`PasswordQueue`].

use std::sync::Arc;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use secrecy::{ExposeSecret as _, SecretString};

use crate::password_queue::{PasswordQueue, PasswordRequester, PasswordTurn, QueuedAttempt};

/// Hashes and checks passwords.
#[derive(Clone, Debug)]
pub(crate) struct PasswordHasher {
    queue: PasswordQueue,
    /// Hash that passwords of unknown logins are checked against.
    nobody: Arc<str>,
}

/// Error while hashing a password.
#[derive(Debug, thiserror::Error)]
pub enum HashError {
    /// The queue of the requester, or of all requesters, is full.
    #[error("too many logins wait already; try again in some seconds")]
    Busy,
    /// The hash function failed, which happens only on a broken machine.
    #[error("cannot hash a password: {0}")]
    Failed(String),
}

fn hash_error(error: impl ToString) -> HashError {
    HashError::Failed(error.to_string())
}

impl PasswordHasher {
    pub(crate) async fn new() -> Result<Self, HashError> {
        let nobody = hash_without_queue(crate::random_secrets::random_password()).await?;
        Ok(Self {
            queue: PasswordQueue::new(),
            nobody: nobody.into(),
        })
    }

    /// Adds an attempt to the queue of `requester`; fails if the queue is full.
    pub(crate) fn enter(&self, requester: PasswordRequester) -> Result<QueuedAttempt, HashError> {
        self.queue.enter(requester)
    }

    /// Hashes to a PHC string with a random salt, in a turn of the user with this id.
    pub(crate) async fn hash(
        &self,
        password: SecretString,
        user_id: &str,
    ) -> Result<String, HashError> {
        let place = self.enter(PasswordRequester::User(user_id.to_owned()))?;
        let turn = place.wait_for_turn().await;
        let hashed = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            hash_now(&password)
        });
        hashed.await.map_err(hash_error)?
    }

    /// True if `password` matches `hash`. Without a hash it takes as long and returns false.
    pub(crate) async fn check(
        &self,
        turn: &PasswordTurn,
        password: SecretString,
        hash: Option<String>,
    ) -> Result<bool, HashError> {
        let exists = hash.is_some();
        let hash = hash.unwrap_or_else(|| self.nobody.to_string());
        // The hash runs to its end even if the client disconnects, and keeps the turn until then.
        let turn = turn.clone();
        let verified = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let hash = PasswordHash::new(&hash).map_err(hash_error)?;
            let password = password.expose_secret().as_bytes();
            Ok(Argon2::default().verify_password(password, &hash).is_ok())
        });
        let verified = verified.await.map_err(hash_error)?;
        verified.map(|right| right && exists)
    }
}

/// Hashes to a PHC string with a random salt, without the queue. For the start of the server,
/// before there are requests.
pub(crate) async fn hash_without_queue(password: SecretString) -> Result<String, HashError> {
    let hashed = tokio::task::spawn_blocking(move || hash_now(&password));
    hashed.await.map_err(hash_error)?
}

fn hash_now(password: &SecretString) -> Result<String, HashError> {
    let password = password.expose_secret().as_bytes();
    let hash = Argon2::default()
        .hash_password(password)
        .map_err(hash_error)?;
    Ok(hash.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_right_password_of_somebody_passes() {
        let passwords = PasswordHasher::new().await.unwrap();
        let requester = PasswordRequester::User("id".to_owned());
        let turn = passwords.enter(requester).unwrap().wait_for_turn().await;
        let hash = hash_without_queue("right".into()).await.unwrap();
        assert!(
            hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{hash}"
        );
        for (password, hash, expected) in [
            ("right", Some(hash.clone()), true),
            ("wrong", Some(hash.clone()), false),
            ("right", None, false),
        ] {
            let passed = passwords.check(&turn, password.into(), hash).await.unwrap();
            assert_eq!(passed, expected);
        }
        let garbage = Some("garbage".to_owned());
        assert!(passwords.check(&turn, "x".into(), garbage).await.is_err());
    }

    #[tokio::test]
    async fn unknown_logins_cost_the_same() {
        let passwords = PasswordHasher::new().await.unwrap();
        let hash = hash_without_queue("right".into()).await.unwrap();
        let parameters = |hash: &str| hash.split('$').take(4).collect::<Vec<_>>().join("$");
        assert_eq!(parameters(&hash), parameters(&passwords.nobody));
    }
}
