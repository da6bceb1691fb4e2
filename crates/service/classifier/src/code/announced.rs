//! Environments that somebody announced: names that groups may have before there is code for them.
//!
//! The rule: an announced name says nothing of code; it is listed, and not synced.

use store::StoreError;

use crate::Classifier;
use crate::defaults::{ENVIRONMENTS, NAME_BYTES};

/// Why an environment was not announced.
#[derive(Debug, thiserror::Error)]
pub enum AnnounceError {
    /// No environment can have this name.
    #[error(
        "an environment's name has 1 to {NAME_BYTES} lower-case letters, digits and underscores"
    )]
    Name,
    /// There are as many as there may be.
    #[error("{ENVIRONMENTS} environments were announced, which is the most; delete one first")]
    TooMany,
    /// The store.
    #[error("cannot read or write the environments")]
    Store(#[from] StoreError),
}

impl Classifier {
    /// Announces an environment; `false`: somebody did before.
    ///
    /// # Errors
    /// The name, the number of environments, or the store.
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

    /// All announced environments, by name.
    ///
    /// # Errors
    /// The store.
    pub async fn announced_environments(&self) -> Result<Vec<String>, StoreError> {
        self.store().classifier_environments().await
    }

    /// Takes an announcement back; `false`: there is none.
    ///
    /// # Errors
    /// The store.
    pub async fn forget_environment(&self, name: &str) -> Result<bool, StoreError> {
        self.store().delete_classifier_environment(name).await
    }
}
