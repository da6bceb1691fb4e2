//! Housekeeping at start and every hour: resumes the lease of an earlier agent, and removes files that are older than their
//! time to live.
//!
//! Invariant: active transactions are never touched, and a failure is logged and retried in the
//! next round.

use std::io;
use std::sync::Arc;

use super::disk::run_blocking;
use super::leases;
use super::state::ActionEngineState;
use crate::defaults::PURGE_INTERVAL;
use crate::spool::{ActionClaim, ClockReading};

pub(super) async fn run(shared: Arc<ActionEngineState>) {
    loop {
        if let Err(error) = leases::resume(&shared).await {
            tracing::warn!(%error, "cannot resume the lease of this node");
        }
        let owned = Arc::clone(&shared);
        if let Err(error) = run_blocking(move || purge(&owned, &ClockReading::read()?)).await {
            tracing::warn!(%error, "cannot purge old results and files");
        }
        tokio::time::sleep(PURGE_INTERVAL).await;
    }
}

fn purge(shared: &ActionEngineState, now: &ClockReading) -> io::Result<()> {
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

/// Removes directories of blocking actions whose agent has ended; those whose action still runs are
/// removed in a later round.
fn remove_abandoned_scratch(shared: &ActionEngineState) -> io::Result<()> {
    for entry in shared.spool.scratch_entries()? {
        if shared.transactions.is_using(&entry) {
            continue;
        }
        let runs = match entry.claim() {
            Ok(Some(ActionClaim::Started(identity))) => identity.open().is_some(),
            Ok(Some(ActionClaim::Abandoned)) => false,
            // Once this claim is taken, the action cannot be started.
            Ok(None) => entry.take_claim(&ActionClaim::Abandoned).is_err(),
            Err(_) => false,
        };
        if !runs {
            entry.remove()?;
        }
    }
    Ok(())
}
