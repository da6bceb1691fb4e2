//! Checking passwords with argon2id, off the async threads and a few at a time.
//!
//! The rules: every check costs the same, also for a login that does not exist; and so many wait
//! for a turn and no more, so that a flood of guesses holds nobody up for long.

use std::sync::Arc;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::defaults::{PASSWORD_CHECKS, PASSWORD_QUEUE};

/// Makes and checks hashes.
#[derive(Clone, Debug)]
pub(crate) struct Passwords {
    turns: Arc<Semaphore>,
    /// Those who have a turn or wait for one.
    places: Arc<Semaphore>,
    /// What passwords of unknown logins are checked against.
    nobody: Arc<str>,
}

/// The right to check a password now.
#[derive(Clone, Debug)]
pub(crate) struct Turn(
    #[expect(dead_code, reason = "held for its drop")] Arc<[OwnedSemaphorePermit; 2]>,
);

/// Why a password was not hashed.
#[derive(Debug, thiserror::Error)]
pub enum HashError {
    /// [`PASSWORD_QUEUE`] others wait.
    #[error("too many logins wait already; try again in some seconds")]
    Busy,
    /// It takes a broken machine.
    #[error("cannot hash a password: {0}")]
    Failed(String),
}

fn failed(error: impl ToString) -> HashError {
    HashError::Failed(error.to_string())
}

impl Passwords {
    pub(crate) async fn new() -> Result<Self, HashError> {
        let turns = Arc::new(Semaphore::new(PASSWORD_CHECKS));
        let nobody = hash(crate::token::random_password()).await?;
        Ok(Self {
            turns,
            places: Arc::new(Semaphore::new(PASSWORD_QUEUE)),
            nobody: nobody.into(),
        })
    }

    /// Waits until fewer than [`PASSWORD_CHECKS`] others have a turn, unless [`PASSWORD_QUEUE`]
    /// wait already.
    pub(crate) async fn turn(&self) -> Result<Turn, HashError> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        let place = place.map_err(|_| HashError::Busy)?;
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        turn.map(|permit| Turn(Arc::new([permit, place])))
            .map_err(failed)
    }

    /// A PHC string with a salt of its own, made in a turn.
    pub(crate) async fn hash(&self, password: SecretString) -> Result<String, HashError> {
        let turn = self.turn().await?;
        let hashed = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            hash_now(&password)
        });
        hashed.await.map_err(failed)?
    }

    /// Whether `password` is the one of `hash`; without a hash it takes as long and is `false`.
    pub(crate) async fn check(
        &self,
        turn: &Turn,
        password: SecretString,
        hash: Option<String>,
    ) -> Result<bool, HashError> {
        let exists = hash.is_some();
        let hash = hash.unwrap_or_else(|| self.nobody.to_string());
        // The work goes on when the client goes away: it keeps the turn until it is done.
        let turn = turn.clone();
        let verified = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let hash = PasswordHash::new(&hash).map_err(failed)?;
            let password = password.expose_secret().as_bytes();
            Ok(Argon2::default().verify_password(password, &hash).is_ok())
        });
        let verified = verified.await.map_err(failed)?;
        verified.map(|right| right && exists)
    }
}

/// A PHC string with a salt of its own; for the start, when there is nobody to wait for.
pub(crate) async fn hash(password: SecretString) -> Result<String, HashError> {
    let hashed = tokio::task::spawn_blocking(move || hash_now(&password));
    hashed.await.map_err(failed)?
}

fn hash_now(password: &SecretString) -> Result<String, HashError> {
    let password = password.expose_secret().as_bytes();
    let hash = Argon2::default().hash_password(password).map_err(failed)?;
    Ok(hash.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_right_password_of_somebody_passes() {
        let passwords = Passwords::new().await.unwrap();
        let turn = passwords.turn().await.unwrap();
        let hash = hash("right".into()).await.unwrap();
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
        let passwords = Passwords::new().await.unwrap();
        let hash = hash("right".into()).await.unwrap();
        let parameters = |hash: &str| hash.split('$').take(4).collect::<Vec<_>>().join("$");
        assert_eq!(parameters(&hash), parameters(&passwords.nobody));
    }

    #[tokio::test]
    async fn so_many_wait_and_all_others_are_told_to_come_again() {
        let passwords = Passwords::new().await.unwrap();
        let mut turns = Vec::new();
        for _ in 0..PASSWORD_CHECKS {
            turns.push(passwords.turn().await.unwrap());
        }
        let mut waiting: Vec<_> = (PASSWORD_CHECKS..PASSWORD_QUEUE)
            .map(|_| Box::pin(passwords.turn()))
            .collect();
        for wait in &mut waiting {
            assert!(is_waiting(wait).await);
        }
        let refused = passwords.turn().await;
        assert!(matches!(refused, Err(HashError::Busy)));
        let refused = passwords.hash("right".into()).await;
        assert!(matches!(refused, Err(HashError::Busy)));
        // Who goes away makes room, and so does who is done.
        drop(waiting.pop());
        turns.clear();
        drop(waiting);
        passwords.turn().await.unwrap();
    }

    /// Whether it waits when it is asked once.
    async fn is_waiting(future: &mut (impl Future + Unpin)) -> bool {
        std::future::poll_fn(|context| {
            let polled = std::pin::Pin::new(&mut *future).poll(context);
            std::task::Poll::Ready(polled.is_pending())
        })
        .await
    }
}
