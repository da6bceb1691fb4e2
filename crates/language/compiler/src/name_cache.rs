//! What an environment has under its names: [`NameCache`].
//!
//! Invariant: what was found stays as long as the environment, which bounds it; names under which
//! there is nothing are kept only up to a limit, since a manifest can make any number of them.

use std::sync::{PoisonError, RwLock};

use pcore::FastHashMap;

use crate::defaults::{MISSING_NAME_BYTES, MISSING_NAMES_BYTES_MAX};

/// Results of searches by name, shared by threads.
#[derive(Debug)]
pub(crate) struct NameCache<T>(RwLock<KnownNames<T>>);

#[derive(Debug)]
struct KnownNames<T> {
    by_name: FastHashMap<String, Option<T>>,
    /// Memory of the names under which there is nothing.
    missing_bytes: usize,
}

impl<T> Default for NameCache<T> {
    fn default() -> Self {
        Self(RwLock::new(KnownNames {
            by_name: FastHashMap::default(),
            missing_bytes: 0,
        }))
    }
}

impl<T: Clone> NameCache<T> {
    /// Result of an earlier search; `None` if the name was not searched, or is not kept.
    pub(crate) fn get(&self, name: &str) -> Option<Option<T>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.by_name.get(name).cloned()
    }

    pub(crate) fn insert(&self, name: String, found: Option<T>) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if found.is_none() {
            let bytes = known.missing_bytes + MISSING_NAME_BYTES + name.len();
            if bytes > MISSING_NAMES_BYTES_MAX {
                return;
            }
            known.missing_bytes = bytes;
        }
        known.by_name.insert(name, found);
    }
}

#[cfg(test)]
mod tests {
    use super::{MISSING_NAME_BYTES, MISSING_NAMES_BYTES_MAX, NameCache};

    #[test]
    fn missing_names_are_kept_up_to_a_limit_and_found_ones_always() {
        let cache = NameCache::default();
        let kept = MISSING_NAMES_BYTES_MAX / (MISSING_NAME_BYTES + 6);
        for n in 0..=kept {
            cache.insert(format!("{n:06}"), None::<u32>);
        }
        assert_eq!(cache.get("000000"), Some(None));
        assert_eq!(cache.get(&format!("{kept:06}")), None);
        cache.insert("found".to_owned(), Some(1));
        assert_eq!(cache.get("found"), Some(Some(1)));
    }

    #[test]
    fn a_very_long_missing_name_is_not_kept() {
        let cache = NameCache::<u32>::default();
        cache.insert("x".repeat(MISSING_NAMES_BYTES_MAX), None);
        cache.insert("short".to_owned(), None);
        assert_eq!(cache.get("short"), Some(None));
    }
}
