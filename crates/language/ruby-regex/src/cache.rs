//! Compiled patterns by source and flags: [`Cache`].
//!
//! Invariant: the cache never exceeds its capacity; when it is full, it evicts the patterns that
//! were not used since it was last full.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::defaults::CACHED_PATTERNS;
use crate::{Flags, Regex, RegexError};

/// A bounded cache for patterns that are built from strings while a program runs.
#[derive(Debug)]
pub struct Cache {
    capacity: usize,
    held: Mutex<HashMap<(String, Flags), Held>>,
}

#[derive(Debug)]
struct Held {
    regex: Regex,
    asked_for: bool,
}

impl Default for Cache {
    fn default() -> Self {
        Self::new(CACHED_PATTERNS)
    }
}

impl Cache {
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            held: Mutex::default(),
        }
    }

    /// The compiled pattern; compiles it if it is not cached. Refused patterns are not cached.
    pub fn get(&self, source: &str, flags: Flags) -> Result<Regex, RegexError> {
        let key = (source.to_owned(), flags);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = held.get_mut(&key) {
            entry.asked_for = true;
            return Ok(entry.regex.clone());
        }
        drop(held);
        let regex = Regex::with_flags(source, flags)?;
        held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() >= self.capacity {
            held.retain(|_, entry| std::mem::take(&mut entry.asked_for));
        }
        if held.len() >= self.capacity {
            held.clear();
        }
        let entry = Held {
            regex: regex.clone(),
            asked_for: false,
        };
        held.insert(key, entry);
        Ok(regex)
    }

    /// Number of cached patterns.
    #[must_use]
    pub fn len(&self) -> usize {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
