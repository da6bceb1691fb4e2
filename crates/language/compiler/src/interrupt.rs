//! Ends a compilation from another thread: [`CompileInterrupt`].
//!
//! Invariants: an interrupted compilation gives an error, never a catalog; whatever a compilation waits
//! for ends when it is interrupted.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A request to end a compilation, which the compilation reads at regular intervals.
#[derive(Debug, Default)]
pub struct CompileInterrupt {
    reason: OnceLock<String>,
    waits: Mutex<InterruptibleWaits>,
}

/// Waits of a compilation, to be ended by an interruption.
#[derive(Default)]
struct InterruptibleWaits {
    next: u64,
    under_way: Vec<(u64, Box<dyn Fn() + Send>)>,
}

/// A wait that an interruption ends; it counts until this is dropped.
#[derive(Debug)]
pub struct InterruptibleWait {
    interrupt: Arc<CompileInterrupt>,
    id: u64,
}

impl CompileInterrupt {
    /// Ends the compilation with an error of this text, and what it waits for. Only the first reason counts.
    pub fn interrupt(&self, reason: impl Into<String>) {
        // the lock comes first, so that a wait that begins now either sees the reason or is ended
        let waits = self.lock();
        let _ = self.reason.set(reason.into());
        for (_, end) in &waits.under_way {
            end();
        }
    }

    /// Reason of the interruption; `None` if there is none.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.reason.get().map(String::as_str)
    }

    /// Begins a wait that `end` ends when the compilation is interrupted; at once if it was already.
    /// `end` must not wait itself.
    #[must_use]
    pub fn begin_wait(self: &Arc<Self>, end: impl Fn() + Send + 'static) -> InterruptibleWait {
        let mut waits = self.lock();
        if self.reason().is_some() {
            end();
        }
        let id = waits.next;
        waits.next += 1;
        waits.under_way.push((id, Box::new(end)));
        drop(waits);
        InterruptibleWait {
            interrupt: Arc::clone(self),
            id,
        }
    }

    fn lock(&self) -> MutexGuard<'_, InterruptibleWaits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InterruptibleWait {
    fn drop(&mut self) {
        let mut waits = self.interrupt.lock();
        waits.under_way.retain(|(id, _)| *id != self.id);
    }
}

impl fmt::Debug for InterruptibleWaits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InterruptibleWaits")
            .field("under_way", &self.under_way.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::CompileInterrupt;

    #[test]
    fn an_interruption_ends_the_waits_under_way_and_later_ones() {
        let interrupt = Arc::new(CompileInterrupt::default());
        let ended = Arc::new(AtomicUsize::new(0));
        let begin = || {
            let ended = Arc::clone(&ended);
            interrupt.begin_wait(move || {
                ended.fetch_add(1, Ordering::Relaxed);
            })
        };
        let first = begin();
        let second = begin();
        drop(first);
        interrupt.interrupt("late");
        assert_eq!(ended.load(Ordering::Relaxed), 1, "the first one was over");
        let _third = begin();
        assert_eq!(ended.load(Ordering::Relaxed), 2);
        drop(second);
        assert_eq!(interrupt.reason(), Some("late"));
    }
}
