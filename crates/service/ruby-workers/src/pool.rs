//! Processes of all environment versions, and the sessions that they may have. Main type: [`RubyWorkers`].
//!
//! Invariant: a slot is taken before a session is forked and given back when it is dropped.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::defaults::PRELOADED_MAX;
use crate::environment::RubyEnvironment;
use crate::error::RubyWorkerError;
use crate::interrupt::RubyInterrupt;
use crate::session::RubySession;
use crate::settings::RubyWorkerSettings;
use crate::template_process::{ForkedSession, TemplateProcess};

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

/// The process of one environment version, started at its first session and again after a failure.
#[derive(Debug)]
pub(crate) struct EnvironmentProcess {
    pub(crate) environment: RubyEnvironment,
    template: Mutex<Option<TemplateProcess>>,
    called: Mutex<CalledCode>,
}

/// Functions and templates that sessions loaded without failing.
#[derive(Debug, Default)]
struct CalledCode {
    known: BTreeSet<PreloadedCode>,
    /// Those that the process has not loaded yet.
    new: Vec<PreloadedCode>,
}

/// Code that further sessions have from the beginning.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PreloadedCode {
    /// Name of a function.
    Function(String),
    /// Path of an ERB template.
    Template(PathBuf),
}

/// Count of free sessions.
#[derive(Debug)]
pub(crate) struct SessionSlots {
    free: Mutex<usize>,
    changed: Condvar,
}

/// A taken slot.
#[derive(Debug)]
pub(crate) struct SessionSlot(Arc<SessionSlots>);

// === impl RubyWorkers ===

impl RubyWorkers {
    /// Workers without any process yet.
    #[must_use]
    pub fn new(settings: RubyWorkerSettings) -> Self {
        let slots = SessionSlots {
            free: Mutex::new(settings.processes_max.max(1)),
            changed: Condvar::new(),
        };
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
        let slot = take_slot(&self.pool.slots, settings, interrupt)?;
        let process = self.environment_process(environment);
        let forked = process.fork(settings, interrupt)?;
        let session = RubySession::new(Arc::clone(settings), process, forked, slot);
        Ok(session.with_interrupt(interrupt.cloned()))
    }

    /// Ends the processes of an environment version after its sessions.
    pub fn forget(&self, environment: &RubyEnvironment) {
        let removed = lock(&self.pool.environments)
            .by_environment
            .remove(environment);
        drop(removed);
    }

    fn environment_process(&self, environment: &RubyEnvironment) -> Arc<EnvironmentProcess> {
        let mut removed = Vec::new();
        let mut environments = lock(&self.pool.environments);
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

// === impl EnvironmentProcess ===

impl EnvironmentProcess {
    fn new(environment: RubyEnvironment) -> Self {
        Self {
            environment,
            template: Mutex::default(),
            called: Mutex::default(),
        }
    }

    /// Forks a session; a process that fails is replaced once, and loads nothing in advance then.
    ///
    /// A fork takes some milliseconds and is not interrupted, because other sessions would end with the
    /// process. Its start is.
    fn fork(
        &self,
        settings: &RubyWorkerSettings,
        interrupt: Option<&RubyInterrupt>,
    ) -> Result<ForkedSession, RubyWorkerError> {
        let mut template = lock(&self.template);
        if let Some(process) = template.as_mut() {
            let preload = std::mem::take(&mut lock(&self.called).new);
            if let Ok(forked) = process.fork(settings, &preload) {
                return Ok(forked);
            }
            *template = None;
        }
        // the process may have been started by a thread that this one waited for, and that gave up
        if interrupt.is_some_and(RubyInterrupt::is_interrupted) {
            return Err(RubyWorkerError::Interrupted);
        }
        let started = TemplateProcess::start(settings, &self.environment, interrupt)?;
        let process = template.insert(started);
        let forked = process.fork(settings, &[]);
        if forked.is_err() {
            *template = None;
        }
        forked
    }

    /// Ends a session; gives how it ended.
    pub(crate) fn end_session(&self, pid: i64) -> Option<String> {
        lock(&self.template).as_mut()?.end_session(pid)
    }

    /// Notes the code that a session loaded.
    pub(crate) fn add_called(&self, loaded: BTreeSet<PreloadedCode>) {
        let mut called = lock(&self.called);
        for code in loaded {
            if called.known.len() < PRELOADED_MAX && called.known.insert(code.clone()) {
                called.new.push(code);
            }
        }
    }
}

// === impl SessionSlots ===

impl SessionSlots {
    /// Lets all threads that wait for a slot look at their interruptions.
    pub(crate) fn wake_all(&self) {
        // with the lock no thread is between its look and its wait
        let free = lock(&self.free);
        self.changed.notify_all();
        drop(free);
    }
}

// === impl SessionSlot ===

impl Drop for SessionSlot {
    fn drop(&mut self) {
        *lock(&self.0.free) += 1;
        self.0.changed.notify_one();
    }
}

fn take_slot(
    slots: &Arc<SessionSlots>,
    settings: &RubyWorkerSettings,
    interrupt: Option<&RubyInterrupt>,
) -> Result<SessionSlot, RubyWorkerError> {
    let time: Duration = settings.call_time_max;
    let start = Instant::now();
    if let Some(interrupt) = interrupt {
        interrupt.set_slots(slots);
    }
    let mut free = lock(&slots.free);
    while *free == 0 {
        if interrupt.is_some_and(RubyInterrupt::is_interrupted) {
            return Err(RubyWorkerError::Interrupted);
        }
        let left = time.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Err(RubyWorkerError::Busy {
                max: settings.processes_max,
                after: time,
            });
        }
        free = slots
            .changed
            .wait_timeout(free, left)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
    }
    *free -= 1;
    Ok(SessionSlot(Arc::clone(slots)))
}

/// Locks a mutex whose data no panic leaves incomplete.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
