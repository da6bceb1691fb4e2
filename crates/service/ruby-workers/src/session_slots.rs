//! The sessions that may exist at one time. Main type: [`SessionSlots`].
//!
//! Invariant: a slot is taken before a session is forked and given back when it is dropped.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::RubyWorkerError;
use crate::interrupt::RubyInterrupt;
use crate::settings::RubyWorkerSettings;

/// Count of free sessions.
#[derive(Debug)]
pub(crate) struct SessionSlots {
    free: Mutex<usize>,
    changed: Condvar,
}

/// A taken slot.
#[derive(Debug)]
pub(crate) struct SessionSlot(Arc<SessionSlots>);

// === impl SessionSlots ===

impl SessionSlots {
    pub(crate) fn new(processes_max: usize) -> Self {
        Self {
            free: Mutex::new(processes_max.max(1)),
            changed: Condvar::new(),
        }
    }

    /// Takes a slot, for as long as a call may take; `interrupt` ends the wait.
    pub(crate) fn take(
        self: &Arc<Self>,
        settings: &RubyWorkerSettings,
        interrupt: Option<&RubyInterrupt>,
    ) -> Result<SessionSlot, RubyWorkerError> {
        let time: Duration = settings.call_time_max;
        let start = Instant::now();
        if let Some(interrupt) = interrupt {
            interrupt.set_slots(self);
        }
        let mut free = self.lock_free();
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
            free = self
                .changed
                .wait_timeout(free, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        *free -= 1;
        Ok(SessionSlot(Arc::clone(self)))
    }

    /// Lets all threads that wait for a slot look at their interruptions.
    pub(crate) fn wake_all(&self) {
        // with the lock no thread is between its look and its wait
        let free = self.lock_free();
        self.changed.notify_all();
        drop(free);
    }

    /// No panic leaves the count incomplete.
    fn lock_free(&self) -> MutexGuard<'_, usize> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl SessionSlot ===

impl Drop for SessionSlot {
    fn drop(&mut self) {
        *self.0.lock_free() += 1;
        self.0.changed.notify_one();
    }
}
