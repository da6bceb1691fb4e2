//! Processes of all environment versions, and the sessions that they may have. Main type: [`RubyWorkers`].
//!
//! Invariant: the process of an environment version is not ended before its sessions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::environment::RubyEnvironment;
use crate::environment_process::EnvironmentProcess;
use crate::error::RubyWorkerError;
use crate::interrupt::RubyInterrupt;
use crate::session::RubySession;
use crate::session_slots::SessionSlots;
use crate::settings::RubyWorkerSettings;

/// Ruby processes of a server. Clones share them; they end when the last clone and session are dropped.
#[derive(Debug, Clone)]
pub struct RubyWorkers {
    pool: Arc<Pool>,
}

#[derive(Debug)]
struct Pool {
    settings: Arc<RubyWorkerSettings>,
    slots: Arc<SessionSlots>,
    environments: Mutex<EnvironmentProcesses>,
}

/// Processes by environment version.
#[derive(Debug, Default)]
struct EnvironmentProcesses {
    by_environment: HashMap<RubyEnvironment, (u64, Arc<EnvironmentProcess>)>,
    uses: u64,
}

// === impl RubyWorkers ===

impl RubyWorkers {
    /// Workers without any process yet.
    #[must_use]
    pub fn new(settings: RubyWorkerSettings) -> Self {
        let slots = SessionSlots::new(settings.processes_max);
        Self {
            pool: Arc::new(Pool {
                settings: Arc::new(settings),
                slots: Arc::new(slots),
                environments: Mutex::default(),
            }),
        }
    }

    #[must_use]
    pub fn settings(&self) -> &RubyWorkerSettings {
        &self.pool.settings
    }

    /// Forks a process for one compile of an environment version. Blocks until a slot is free, and at the
    /// first time until the environment is loaded.
    pub fn session(&self, environment: &RubyEnvironment) -> Result<RubySession, RubyWorkerError> {
        self.fork_session(environment, None)
    }

    /// The same; `interrupt` ends the wait for the session, and later its calls.
    pub fn interruptible_session(
        &self,
        environment: &RubyEnvironment,
        interrupt: &RubyInterrupt,
    ) -> Result<RubySession, RubyWorkerError> {
        self.fork_session(environment, Some(interrupt))
    }

    fn fork_session(
        &self,
        environment: &RubyEnvironment,
        interrupt: Option<&RubyInterrupt>,
    ) -> Result<RubySession, RubyWorkerError> {
        let settings = &self.pool.settings;
        let slot = self.pool.slots.take(settings, interrupt)?;
        let process = self.environment_process(environment);
        let forked = process.fork(settings, interrupt)?;
        let session = RubySession::new(Arc::clone(settings), process, forked, slot);
        Ok(session.with_interrupt(interrupt.cloned()))
    }

    /// Ends the processes of an environment version after its sessions.
    pub fn forget(&self, environment: &RubyEnvironment) {
        let removed = self.lock_environments().by_environment.remove(environment);
        drop(removed);
    }

    fn lock_environments(&self) -> MutexGuard<'_, EnvironmentProcesses> {
        // no panic leaves them incomplete
        let environments = self.pool.environments.lock();
        environments.unwrap_or_else(PoisonError::into_inner)
    }

    fn environment_process(&self, environment: &RubyEnvironment) -> Arc<EnvironmentProcess> {
        let mut removed = Vec::new();
        let mut environments = self.lock_environments();
        environments.uses += 1;
        let now = environments.uses;
        let entry = environments
            .by_environment
            .entry(environment.clone())
            .or_insert_with(|| (now, Arc::new(EnvironmentProcess::new(environment.clone()))));
        entry.0 = now;
        let process = Arc::clone(&entry.1);
        while environments.by_environment.len() > self.pool.settings.environments_max.max(1) {
            removed.extend(environments.remove_least_recent());
        }
        drop(environments);
        // ending a process takes time, so it is done without the lock
        drop(removed);
        process
    }
}

// === impl EnvironmentProcesses ===

impl EnvironmentProcesses {
    fn remove_least_recent(&mut self) -> Option<Arc<EnvironmentProcess>> {
        let oldest = self
            .by_environment
            .iter()
            .min_by_key(|(_, (used, _))| *used);
        let key = oldest.map(|(key, _)| key.clone())?;
        self.by_environment.remove(&key).map(|(_, process)| process)
    }
}
