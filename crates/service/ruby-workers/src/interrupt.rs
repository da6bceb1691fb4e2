//! Ends what a thread waits for in Ruby, from another thread: [`RubyInterrupt`].
//!
//! Invariant: an interruption lasts, so a wait that begins after it ends at once.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::event::{EventfdFlags, eventfd};

use crate::session_slots::SessionSlots;

/// A request to end a session's waits: for a free process, for the start of an environment, and for Ruby
/// code that runs. Clones are the same request.
#[derive(Debug, Clone)]
pub struct RubyInterrupt {
    inner: Arc<InterruptState>,
}

#[derive(Debug)]
struct InterruptState {
    /// Readable after the interruption, for threads that wait for descriptors.
    event: OwnedFd,
    is_interrupted: AtomicBool,
    /// Slots that a thread waits for.
    slots: Mutex<Weak<SessionSlots>>,
}

impl RubyInterrupt {
    /// A request that is not made yet.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self {
            inner: Arc::new(InterruptState {
                event,
                is_interrupted: AtomicBool::new(false),
                slots: Mutex::default(),
            }),
        })
    }

    /// Ends the waits. The process of a session that runs code is killed.
    pub fn interrupt(&self) {
        self.inner.is_interrupted.store(true, Ordering::SeqCst);
        // a counter that cannot take more is readable already
        let _ = rustix::io::write(&self.inner.event, &1_u64.to_ne_bytes());
        let slots = self.inner.slots.lock();
        let slots = slots.unwrap_or_else(PoisonError::into_inner).upgrade();
        if let Some(slots) = slots {
            slots.wake_all();
        }
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.inner.is_interrupted.load(Ordering::SeqCst)
    }

    pub(crate) fn event(&self) -> BorrowedFd<'_> {
        self.inner.event.as_fd()
    }

    /// Notes the slots that the thread is about to wait for.
    pub(crate) fn set_slots(&self, slots: &Arc<SessionSlots>) {
        let noted = self.inner.slots.lock();
        *noted.unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(slots);
    }
}
