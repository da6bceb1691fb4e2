//! Scheduled jobs, run by the engines of this server.

use std::sync::Arc;

use anyhow::Result;
use api::JobScheduler;
use audit::Audit;
use pki::seal::SealKey;
use store::{Store, SystemClock};

use crate::config::Config;

/// Starts the scheduler.
pub(crate) fn start(config: &Config, store: Store, audit: Audit) -> Result<JobScheduler> {
    let seal = SealKey::open_or_create(&config.data_dir.join("seal.key"))?;
    Ok(JobScheduler::start(
        Arc::new(SystemClock),
        store,
        seal,
        audit,
    ))
}
