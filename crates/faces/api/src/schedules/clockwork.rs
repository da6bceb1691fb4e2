//! The schedules with what they start, as one thing to be made: [`Clockwork`].
//!
//! The rule: it is started before the router, which it waits for; nothing is launched before the
//! engines that a launch needs are there.

use std::fmt;
use std::sync::Arc;

use audit::Audit;
use pki::seal::SealKey;
use schedules::{Clock, Schedules, SchedulesConfig};
use store::Store;

use super::launch::Launcher;
use super::record::{AuditRecord, Fired};
use crate::Shared;

/// Scheduled jobs, and the way from a slot to its job. Cheap to clone.
#[derive(Clone)]
pub struct Clockwork {
    pub(crate) schedules: Schedules,
    pub(crate) fired: Arc<Fired>,
    launcher: Launcher,
}

impl Clockwork {
    /// Starts to look at the clock; jobs are made when [`router`](crate::router) has been called.
    pub fn start(clock: Arc<dyn Clock>, store: Store, seal: SealKey, audit: Audit) -> Self {
        let launcher = Launcher::default();
        let fired = Arc::<Fired>::default();
        let config = SchedulesConfig {
            clock,
            record: Arc::new(AuditRecord(audit, Arc::clone(&fired))),
        };
        let schedules = Schedules::start(config, store, seal, Arc::new(launcher.clone()));
        Self {
            schedules,
            fired,
            launcher,
        }
    }

    /// Ends it: no slot is claimed any more, and launches under way come to their end. To be
    /// called before the jobs' engine ends.
    pub async fn shutdown(&self) {
        self.schedules.shutdown().await;
    }

    pub(crate) fn bind(&self, api: &Shared) {
        self.launcher.bind(api);
    }
}

impl fmt::Debug for Clockwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clockwork").finish_non_exhaustive()
    }
}
