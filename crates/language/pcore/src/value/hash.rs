//! The language's hash: any value may be a key, and entries keep their order of insertion. Main
//! type: [`Hash`].
//!
//! Invariant: replacing the value of a key keeps the position of the entry, as in Ruby.

use std::fmt;

use foldhash::fast::RandomState;

use super::Value;
use super::key::{HashKey, TextKey, ValueKey};
use crate::fast_hash::FastIndexMap;

/// Entries in their order of insertion. Two hashes are equal if they have equal entries, in any
/// order.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Hash {
    entries: FastIndexMap<HashKey, Value>,
}

impl Hash {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn with_capacity(entries: usize) -> Self {
        Self {
            entries: FastIndexMap::with_capacity_and_hasher(entries, RandomState::default()),
        }
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Sets a key; returns its old value.
    pub fn insert(&mut self, key: impl Into<Value>, value: impl Into<Value>) -> Option<Value> {
        self.entries.insert(HashKey(key.into()), value.into())
    }

    /// Removes an entry; the others keep their order. Returns its value.
    pub fn remove(&mut self, key: &Value) -> Option<Value> {
        self.entries.shift_remove(&ValueKey(key))
    }

    #[must_use]
    pub fn get(&self, key: &Value) -> Option<&Value> {
        self.entries.get(&ValueKey(key))
    }

    /// The value of a string key.
    #[must_use]
    pub fn get_str(&self, key: &str) -> Option<&Value> {
        self.entries.get(&TextKey(key))
    }

    #[must_use]
    pub fn contains_key(&self, key: &Value) -> bool {
        self.entries.contains_key(&ValueKey(key))
    }

    /// The entry at an index of the order.
    #[must_use]
    pub fn get_index(&self, index: usize) -> Option<(&Value, &Value)> {
        self.entries
            .get_index(index)
            .map(|(key, value)| (&key.0, value))
    }

    pub fn iter(
        &self,
    ) -> impl ExactSizeIterator<Item = (&Value, &Value)> + DoubleEndedIterator + Clone {
        self.entries.iter().map(|(key, value)| (&key.0, value))
    }

    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Value> + DoubleEndedIterator + Clone {
        self.entries.keys().map(|key| &key.0)
    }

    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> + DoubleEndedIterator + Clone {
        self.entries.values()
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Into<Value>, V: Into<Value>> FromIterator<(K, V)> for Hash {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self {
            entries: entries
                .into_iter()
                .map(|(key, value)| (HashKey(key.into()), value.into()))
                .collect(),
        }
    }
}

impl Extend<(Value, Value)> for Hash {
    fn extend<I: IntoIterator<Item = (Value, Value)>>(&mut self, entries: I) {
        self.entries.extend(
            entries
                .into_iter()
                .map(|(key, value)| (HashKey(key), value)),
        );
    }
}

impl IntoIterator for Hash {
    type Item = (Value, Value);
    type IntoIter = IntoEntries;

    fn into_iter(self) -> IntoEntries {
        IntoEntries(self.entries.into_iter())
    }
}

/// An iterator over the entries of a consumed hash.
#[derive(Debug)]
pub struct IntoEntries(indexmap::map::IntoIter<HashKey, Value>);

impl Iterator for IntoEntries {
    type Item = (Value, Value);

    fn next(&mut self) -> Option<(Value, Value)> {
        self.0.next().map(|(key, value)| (key.0, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for IntoEntries {}
