//! The process of one environment version, from which sessions are forked: [`EnvironmentProcess`].
//!
//! Invariant: a process that failed forks no further session.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::defaults::PRELOADED_MAX;
use crate::environment::RubyEnvironment;
use crate::error::RubyWorkerError;
use crate::interrupt::RubyInterrupt;
use crate::preloaded_code::PreloadedCode;
use crate::settings::RubyWorkerSettings;
use crate::template_process::{ForkedSession, TemplateProcess};

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

// === impl EnvironmentProcess ===

impl EnvironmentProcess {
    pub(crate) fn new(environment: RubyEnvironment) -> Self {
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
    pub(crate) fn fork(
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

/// Locks a mutex whose data no panic leaves incomplete.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
