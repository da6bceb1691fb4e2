//! Housekeeping at start and every hour: removes what is older than its time to
//! live.
//!
//! The rule: it never touches what is active, and a failure is logged and tried
//! again in the next round.

use std::io;
use std::sync::Arc;

use super::Shared;
use super::disk::on_disk;
use crate::defaults::PURGE_INTERVAL;
use crate::spool::{Claim, Clocks};

pub(super) async fn run(shared: Arc<Shared>) {
    loop {
        let owned = Arc::clone(&shared);
        if let Err(error) = on_disk(move || purge(&owned, &Clocks::read()?)).await {
            tracing::warn!(%error, "cannot purge old results and files");
        }
        tokio::time::sleep(PURGE_INTERVAL).await;
    }
}

fn purge(shared: &Shared, now: &Clocks) -> io::Result<()> {
    if let Some(ttl) = shared.config.spool_ttl {
        let removed = shared
            .spool
            .purge(ttl, now, |id| shared.transactions.is_active(id))?;
        if removed > 0 {
            tracing::info!(removed, "purged old results");
        }
    }
    if let Some(ttl) = shared.config.task_cache_ttl {
        let removed = shared.cache.purge(ttl, now.wall)?;
        if removed > 0 {
            tracing::info!(removed, "purged unused task files");
        }
    }
    remove_abandoned_scratch(shared)
}

/// Directories of blocking actions whose agent was ended; those whose action
/// still runs go in a later round.
fn remove_abandoned_scratch(shared: &Shared) -> io::Result<()> {
    for entry in shared.spool.scratch_entries()? {
        if shared.transactions.uses(&entry) {
            continue;
        }
        let runs = match entry.claim() {
            Ok(Some(Claim::Started(identity))) => identity.open().is_some(),
            Ok(Some(Claim::Abandoned)) => false,
            // Nobody starts it any more once this claim is taken.
            Ok(None) => entry.take_claim(&Claim::Abandoned).is_err(),
            Err(_) => false,
        };
        if !runs {
            entry.remove()?;
        }
    }
    Ok(())
}
