//! The engine that runs plans. Main function: [`start`].

use std::sync::Arc;

use ::plans::{Fault, Launch, OverJobs, Plans, PlansConfig, Program, Programs};
use anyhow::{Context as _, Result};
use jobs::{Jobs, SystemClock};
use pki::seal::SealKey;
use store::Store;

use crate::config::Config;

/// Knows no plan: there is nobody yet who evaluates them.
struct NoPrograms;

impl Programs for NoPrograms {
    fn program(&self, launch: &Launch) -> Result<Arc<dyn Program>, Fault> {
        let msg = format!(
            "this server cannot evaluate plans, so {} was not run; run it with Bolt over the pcp \
             transport",
            launch.plan
        );
        Err(Fault::new("tutti/not-supported", &msg))
    }
}

/// Starts it, with the plans that were going on before.
pub(crate) async fn start(config: &Config, store: Store, jobs: &Jobs) -> Result<Plans> {
    let seal = SealKey::open_or_create(&config.data_dir.join("seal.key"))?;
    let effects = OverJobs::new(jobs.clone(), store.clone());
    let plans = Plans::start(
        PlansConfig::default(),
        store,
        Arc::new(effects),
        Arc::new(NoPrograms),
        Arc::new(seal),
        Arc::new(SystemClock),
    );
    plans.await.context("cannot take up the plans of before")
}
