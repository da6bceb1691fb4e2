//! The scheduler with its launcher, as one component: [`JobScheduler`].
//!
//! Invariant: the scheduler is started before the router and waits for it; nothing is launched
//! before the engines that a launch needs are available.

use std::sync::Arc;

use audit::Audit;
use partial_debug::partial_debug;
use pki::seal::SealKey;
use schedules::{Schedules, SchedulesConfig};
use store::{Clock, Store};

use super::launch_audit::{AuditRecord, LaunchCounters};
use super::launcher::ScheduleLauncher;
use crate::SharedApiContext;

/// Scheduled jobs and their launcher. Cheap to clone.
#[derive(Clone)]
pub struct JobScheduler {
    pub(crate) schedules: Schedules,
    pub(crate) launch_counters: Arc<LaunchCounters>,
    launcher: ScheduleLauncher,
}

impl JobScheduler {
    /// Starts the scheduler; jobs are created once [`router`](crate::router) was called.
    pub fn start(clock: Arc<dyn Clock>, store: Store, seal: SealKey, audit: Audit) -> Self {
        let launcher = ScheduleLauncher::default();
        let launch_counters = Arc::<LaunchCounters>::default();
        let config = SchedulesConfig {
            clock,
            record: Arc::new(AuditRecord(audit, Arc::clone(&launch_counters))),
        };
        let schedules = Schedules::start(config, store, seal, Arc::new(launcher.clone()));
        Self {
            schedules,
            launch_counters,
            launcher,
        }
    }

    /// Shuts down: no more slots are claimed, and launches in progress finish. To be called before
    /// the engine of jobs stops.
    pub async fn shutdown(&self) {
        self.schedules.shutdown().await;
    }

    pub(crate) fn bind(&self, api: &SharedApiContext) {
        self.launcher.bind(api);
    }
}

partial_debug!(JobScheduler {});
