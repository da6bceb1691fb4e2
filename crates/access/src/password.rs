//! Checking passwords with argon2id, off the async threads and a few at a time.
//!
//! The rule: every check costs the same, also for a login that does not exist.

use std::sync::Arc;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::defaults::PASSWORD_CHECKS;

/// Makes and checks hashes.
#[derive(Clone, Debug)]
pub(crate) struct Passwords {
    turns: Arc<Semaphore>,
    /// What passwords of unknown logins are checked against.
    nobody: Arc<str>,
}

/// The right to check a password now.
#[derive(Clone, Debug)]
pub(crate) struct Turn(
    #[expect(dead_code, reason = "held for its drop")] Arc<OwnedSemaphorePermit>,
);

/// Hashing failed, which takes a broken machine.
#[derive(Debug, thiserror::Error)]
#[error("cannot hash a password: {0}")]
pub struct HashError(String);

impl Passwords {
    pub(crate) async fn new() -> Result<Self, HashError> {
        let turns = Arc::new(Semaphore::new(PASSWORD_CHECKS));
        let nobody = hash(crate::token::random_password()).await?;
        Ok(Self {
            turns,
            nobody: nobody.into(),
        })
    }

    /// Waits until fewer than [`PASSWORD_CHECKS`] others have a turn.
    pub(crate) async fn turn(&self) -> Result<Turn, HashError> {
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        turn.map(|permit| Turn(Arc::new(permit)))
            .map_err(|error| HashError(error.to_string()))
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
            let hash = PasswordHash::new(&hash).map_err(|error| HashError(error.to_string()))?;
            let password = password.expose_secret().as_bytes();
            Ok(Argon2::default().verify_password(password, &hash).is_ok())
        });
        let verified = verified
            .await
            .map_err(|error| HashError(error.to_string()))?;
        verified.map(|right| right && exists)
    }
}

/// A PHC string with a salt of its own.
pub(crate) async fn hash(password: SecretString) -> Result<String, HashError> {
    let hashed = tokio::task::spawn_blocking(move || {
        let password = password.expose_secret().as_bytes();
        Argon2::default()
            .hash_password(password)
            .map(|hash| hash.to_string())
    });
    let hashed = hashed.await.map_err(|error| HashError(error.to_string()))?;
    hashed.map_err(|error| HashError(error.to_string()))
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
}
