//! Slots for compilations, shared by all requests: [`CompileSlots`].
//!
//! Invariant: a request that ends, for whatever reason, gives up its place in the queue or its slot.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use environments::EnvironmentName;
use tokio::sync::oneshot;

use super::queue::{CompileOrigin, CompileQueue, CompileQueueFull, CompileTicket, QueueBounds};

/// The queue with those who wait in it.
#[derive(Debug, Clone)]
pub(super) struct CompileSlots {
    state: Arc<Mutex<SlotState>>,
}

#[derive(Debug)]
struct SlotState {
    queue: CompileQueue,
    waiting: HashMap<CompileTicket, oneshot::Sender<()>>,
}

/// A slot, or a place in the queue before; given up when dropped.
#[derive(Debug)]
pub(super) struct CompileSlot {
    slots: CompileSlots,
    ticket: CompileTicket,
}

impl CompileSlots {
    pub(super) fn new(bounds: QueueBounds) -> Self {
        Self {
            state: Arc::new(Mutex::new(SlotState {
                queue: CompileQueue::new(bounds),
                waiting: HashMap::new(),
            })),
        }
    }

    /// Waits for a slot with a request that holds `bytes`.
    pub(super) async fn acquire(
        &self,
        environment: &EnvironmentName,
        origin: &CompileOrigin,
        bytes: usize,
    ) -> Result<CompileSlot, CompileQueueFull> {
        let (slot, started) = self.enter(environment, origin, bytes)?;
        // The sender is dropped only together with the ticket, which `slot` holds.
        let _ = started.await;
        Ok(slot)
    }

    fn enter(
        &self,
        environment: &EnvironmentName,
        origin: &CompileOrigin,
        bytes: usize,
    ) -> Result<(CompileSlot, oneshot::Receiver<()>), CompileQueueFull> {
        let mut state = self.lock();
        let ticket = state.queue.enter(environment, origin, bytes)?;
        let (start, started) = oneshot::channel();
        state.waiting.insert(ticket, start);
        state.start_waiting();
        drop(state);
        let slot = CompileSlot {
            slots: self.clone(),
            ticket,
        };
        Ok((slot, started))
    }

    /// Numbers of waiting and of running compilations.
    pub(super) fn counts(&self) -> (usize, usize) {
        let state = self.lock();
        (state.queue.waiting(), state.queue.running())
    }

    fn lock(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SlotState {
    /// Starts compilations while slots are free.
    fn start_waiting(&mut self) {
        while let Some(ticket) = self.queue.start_next() {
            let start = self.waiting.remove(&ticket);
            // A request that no longer waits gives the slot back when it drops its ticket.
            let _ = start.map(|start| start.send(()));
        }
    }
}

impl Drop for CompileSlot {
    fn drop(&mut self) {
        let mut state = self.slots.lock();
        state.queue.leave(self.ticket);
        state.waiting.remove(&self.ticket);
        state.start_waiting();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::queue::{CompileCaller, CompileOrigin, CompilePriority, QueueBounds};
    use super::CompileSlots;

    fn slots() -> CompileSlots {
        CompileSlots::new(QueueBounds {
            slots: 1,
            waiting_max: 2,
            waiting_each_max: 2,
            waiting_of_caller_max: 2,
            waiting_bytes_max: 100,
            waiting_bytes_of_caller_max: 100,
        })
    }

    fn origin(priority: CompilePriority) -> CompileOrigin {
        CompileOrigin {
            caller: CompileCaller::Client("ann".to_owned()),
            priority,
        }
    }

    #[tokio::test]
    async fn a_slot_passes_on_when_it_is_dropped() {
        let slots = slots();
        let environment = "production".parse().unwrap();
        let (urgent, late) = (
            origin(CompilePriority::Foreground),
            origin(CompilePriority::Background),
        );
        let first = slots.acquire(&environment, &urgent, 1).await.unwrap();
        let second = slots.acquire(&environment, &late, 1);
        tokio::pin!(second);
        let early = tokio::time::timeout(Duration::from_millis(1), &mut second).await;
        assert!(early.is_err(), "the slot is taken");
        assert_eq!(slots.counts(), (1, 1));
        drop(first);
        drop(second.await.unwrap());
        assert_eq!(slots.counts(), (0, 0));
    }

    #[tokio::test]
    async fn a_request_that_ends_while_it_waits_leaves_the_queue() {
        let slots = slots();
        let environment = "production".parse().unwrap();
        let origin = origin(CompilePriority::Foreground);
        let acquire = || slots.acquire(&environment, &origin, 1);
        let first = acquire().await.unwrap();
        for _ in 0..10 {
            let waiting = tokio::time::timeout(Duration::from_millis(1), acquire()).await;
            assert!(waiting.is_err());
        }
        assert_eq!(slots.counts(), (0, 1));
        // started and ended before it was polled again
        let (slot, started) = slots.enter(&environment, &origin, 1).unwrap();
        drop(first);
        drop((slot, started));
        assert_eq!(slots.counts(), (0, 0));
    }
}
