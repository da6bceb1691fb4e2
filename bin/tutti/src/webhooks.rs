//! Webhooks that are notified of events. Main function: [`start`].

use ::webhooks::Webhooks;
use anyhow::{Context as _, Result};
use pki::seal::SealKey;
use store::Store;

use crate::config::Config;

/// Starts the webhooks, each from its last position.
pub(crate) async fn start(config: &Config, store: Store) -> Result<Webhooks> {
    let seal = SealKey::open_or_create(&config.data_dir.join("seal.key"))?;
    Webhooks::open(store, seal)
        .await
        .context("cannot start the webhooks")
}
