//! Values that the catalogs of many nodes share: [`Interned`].
//!
//! Nodes of one role have the same files and read the same facts. Invariant: equal values are in memory once,
//! and their bytes are counted as long as they are.

use std::collections::HashMap;
use std::sync::Arc;

use environments::Sha256;
use serde::Serialize;
use sha2::Digest as _;

/// The shared values of one type.
#[derive(Debug)]
pub(crate) struct Interned<T> {
    values: HashMap<Sha256, (Arc<T>, usize)>,
    bytes: usize,
    /// Number of values at which those without a holder are dropped.
    sweep_at: usize,
}

/// Number of values from which on they are swept.
const SWEEP_MIN: usize = 64;

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self {
            values: HashMap::new(),
            bytes: 0,
            sweep_at: SWEEP_MIN,
        }
    }
}

impl<T: Serialize> Interned<T> {
    /// The shared value that equals this one, which takes as many bytes.
    pub(crate) fn share(&mut self, value: Arc<T>, bytes: usize) -> Arc<T> {
        // what cannot be written as JSON is not shared, but counted under a name of its own
        let text = serde_json::to_vec(&*value);
        let text = text.unwrap_or_else(|_| format!("{:p}", Arc::as_ptr(&value)).into_bytes());
        let digest: [u8; 32] = sha2::Sha256::digest(&text).into();
        if self.values.len() >= self.sweep_at {
            self.sweep();
        }
        let (shared, _) = self.values.entry(digest.into()).or_insert_with(|| {
            self.bytes += bytes;
            (value, bytes)
        });
        Arc::clone(shared)
    }
}

impl<T> Interned<T> {
    /// Bytes of all values.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Drops the values that no catalog has.
    pub(crate) fn sweep(&mut self) {
        self.values.retain(|_, (value, bytes)| {
            let is_held = Arc::strong_count(value) > 1;
            if !is_held {
                self.bytes -= *bytes;
            }
            is_held
        });
        self.sweep_at = (2 * self.values.len()).max(SWEEP_MIN);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Interned, SWEEP_MIN};

    #[test]
    fn equal_values_are_counted_once_and_as_long_as_they_are_held() {
        let mut interned = Interned::default();
        let first = interned.share(Arc::new("a".to_owned()), 10);
        let second = interned.share(Arc::new("a".to_owned()), 10);
        assert!(Arc::ptr_eq(&first, &second));
        let other = interned.share(Arc::new("b".to_owned()), 5);
        assert_eq!(interned.bytes(), 15);
        drop((first, second));
        interned.sweep();
        assert_eq!(interned.bytes(), 5);
        for number in 0..10 * SWEEP_MIN {
            interned.share(Arc::new(number.to_string()), 1);
        }
        assert!(interned.bytes() <= 5 + SWEEP_MIN, "{}", interned.bytes());
        assert_eq!(*other, "b");
    }
}
