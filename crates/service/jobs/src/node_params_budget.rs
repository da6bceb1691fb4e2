//! Memory for the parameters that nodes have for themselves, of all jobs together: [`NodeParamsBudget`].
//!
//! Invariant: what jobs hold is counted until the last copy of their parameters is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::defaults::NODE_PARAMS_ALL_BYTES;

/// Bytes that all jobs hold. Clones are the same budget.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeParamsBudget {
    held: Arc<AtomicUsize>,
}

/// The part of one job, given back when dropped.
#[derive(Debug)]
pub(crate) struct NodeParamsReservation {
    budget: NodeParamsBudget,
    bytes: usize,
}

// === impl NodeParamsBudget ===

impl NodeParamsBudget {
    /// A part without bytes.
    pub(crate) fn begin(&self) -> NodeParamsReservation {
        self.count(0)
    }

    /// The part of a job that was stored before a restart; it is never refused.
    pub(crate) fn count(&self, bytes: usize) -> NodeParamsReservation {
        self.held.fetch_add(bytes, Ordering::Relaxed);
        NodeParamsReservation {
            budget: self.clone(),
            bytes,
        }
    }
}

// === impl NodeParamsReservation ===

impl NodeParamsReservation {
    /// Takes more bytes. The error is the number of bytes that all jobs hold already.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), usize> {
        let held = &self.budget.held;
        held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
            let more = held.checked_add(bytes)?;
            (more <= NODE_PARAMS_ALL_BYTES).then_some(more)
        })?;
        self.bytes += bytes;
        Ok(())
    }

    /// Bytes of this job.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for NodeParamsReservation {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_have_a_limit_together_and_give_back_their_parts() {
        let budget = NodeParamsBudget::default();
        let mut first = budget.begin();
        first.grow(NODE_PARAMS_ALL_BYTES - 10).unwrap();
        let mut second = budget.begin();
        assert_eq!(second.grow(11), Err(NODE_PARAMS_ALL_BYTES - 10));
        second.grow(10).unwrap();
        // one of before the restart is counted, though it is too much
        let restored = budget.count(5);
        drop(first);
        assert_eq!(second.grow(NODE_PARAMS_ALL_BYTES - 14), Err(15));
        drop(restored);
        second.grow(NODE_PARAMS_ALL_BYTES - 10).unwrap();
        assert_eq!(second.bytes(), NODE_PARAMS_ALL_BYTES);
        drop(second);
        assert_eq!(budget.held.load(Ordering::Relaxed), 0);
    }
}
