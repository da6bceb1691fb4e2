//! Compiled patterns by source and flags: [`RegexCache`].
//!
//! Invariant: the cache never exceeds its capacity; when it is full, it evicts the patterns that
//! were not used since it was last full.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::defaults::CACHED_PATTERNS;
use crate::{Regex, RegexError, RegexFlags};

/// A bounded cache for patterns that are built from strings while a program runs.
#[derive(Debug)]
pub struct RegexCache {
    capacity: usize,
    entries: Mutex<HashMap<(String, RegexFlags), CachedRegex>>,
}

#[derive(Debug)]
struct CachedRegex {
    regex: Regex,
    recently_used: bool,
}

impl Default for RegexCache {
    fn default() -> Self {
        Self::new(CACHED_PATTERNS)
    }
}

impl RegexCache {
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            entries: Mutex::default(),
        }
    }

    /// The compiled pattern; compiles it if it is not cached. Refused patterns are not cached.
    pub fn get(&self, source: &str, flags: RegexFlags) -> Result<Regex, RegexError> {
        let key = (source.to_owned(), flags);
        let mut held = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = held.get_mut(&key) {
            entry.recently_used = true;
            return Ok(entry.regex.clone());
        }
        drop(held);
        let regex = Regex::with_flags(source, flags)?;
        held = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() >= self.capacity {
            held.retain(|_, entry| std::mem::take(&mut entry.recently_used));
        }
        if held.len() >= self.capacity {
            held.clear();
        }
        let entry = CachedRegex {
            regex: regex.clone(),
            recently_used: false,
        };
        held.insert(key, entry);
        Ok(regex)
    }

    /// Number of cached patterns.
    #[must_use]
    pub fn len(&self) -> usize {
        let held = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        held.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
