//! Announced environments: names that groups may use before there is code for them.
//!
//! Invariant: an announced name implies no code; it is listed, and marked as not synced.

use store::StoreError;

use crate::Classifier;
use crate::defaults::{ENVIRONMENTS, NAME_BYTES};

/// The environment could not be announced.
#[derive(Debug, thiserror::Error)]
pub enum AnnounceError {
    /// The name is not a valid environment name.
    #[error(
        "an environment's name has 1 to {NAME_BYTES} lower-case letters, digits and underscores"
    )]
    Name,
    /// The maximum number of announced environments is reached.
    #[error("{ENVIRONMENTS} environments were announced, which is the most; delete one first")]
    TooMany,
    /// The store could not be read or written.
    #[error("cannot read or write the environments")]
    Store(#[from] StoreError),
}

impl Classifier {
    /// Announces an environment; `false` if it was announced before.
    ///
    /// # Errors
    /// The name is invalid, the maximum number is reached, or the store failed.
    pub async fn announce_environment(&self, name: &str) -> Result<bool, AnnounceError> {
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        if name.is_empty() || name.len() > NAME_BYTES || !name.bytes().all(allowed) {
            return Err(AnnounceError::Name);
        }
        if self
            .store()
            .add_classifier_environment(name, ENVIRONMENTS)
            .await?
        {
            return Ok(true);
        }
        match self
            .announced_environments()
            .await?
            .iter()
            .any(|known| known == name)
        {
            true => Ok(false),
            false => Err(AnnounceError::TooMany),
        }
    }

    /// All announced environments, sorted by name.
    ///
    /// # Errors
    /// The store could not be read.
    pub async fn announced_environments(&self) -> Result<Vec<String>, StoreError> {
        self.store().classifier_environments().await
    }

    /// Withdraws the announcement of an environment; `false` if there is none.
    ///
    /// # Errors
    /// The store could not be written.
    pub async fn withdraw_environment(&self, name: &str) -> Result<bool, StoreError> {
        self.store().delete_classifier_environment(name).await
    }
}
