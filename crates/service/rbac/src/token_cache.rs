//! Cache of recently used tokens: [`TokenCache`]. It saves each request a read of the store.
//!
//! Invariants: cached entries match the store, because every write through
//! [`Rbac`](crate::Rbac) invalidates the entries that it may have changed. An entry that was read
//! before such a write is not cached after it, which the generation detects.
//!
//! The last use of each token is recorded here and written to the store in batches.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::UserIdentity;
use crate::defaults::TOKEN_CACHE;

/// SHA-256 of a token.
pub(crate) type TokenHash = [u8; 32];

/// A token that was valid when it was read.
#[derive(Debug)]
pub(crate) struct CachedToken {
    pub(crate) identity: Arc<UserIdentity>,
    pub(crate) expires_ms: Option<i64>,
    pub(crate) timeout_ms: Option<i64>,
    last_active_ms: AtomicI64,
    /// Last use of the token that the store has, in milliseconds since 1970.
    written_ms: AtomicI64,
}

#[derive(Debug, Default)]
pub(crate) struct TokenCache {
    inner: Mutex<TokenCacheInner>,
}

#[derive(Debug, Default)]
struct TokenCacheInner {
    entries: HashMap<TokenHash, Arc<CachedToken>>,
    /// Unwritten last uses of tokens that are no longer in `entries`.
    pending: HashMap<TokenHash, i64>,
    generation: u64,
}

/// Number of invalidations so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CacheGeneration(u64);

// === impl CachedToken ===

impl CachedToken {
    pub(crate) fn new(
        identity: Arc<UserIdentity>,
        expires_ms: Option<i64>,
        timeout_ms: Option<i64>,
        last_active_ms: i64,
    ) -> Self {
        Self {
            identity,
            expires_ms,
            timeout_ms,
            last_active_ms: last_active_ms.into(),
            written_ms: last_active_ms.into(),
        }
    }

    pub(crate) fn last_active_ms(&self) -> i64 {
        self.last_active_ms.load(Ordering::Relaxed)
    }

    pub(crate) fn record_use(&self, now_ms: i64) {
        self.last_active_ms.fetch_max(now_ms, Ordering::Relaxed);
    }

    fn unwritten_use(&self) -> Option<i64> {
        let at = self.last_active_ms();
        (at > self.written_ms.load(Ordering::Relaxed)).then_some(at)
    }
}

// === impl TokenCache ===

impl TokenCache {
    pub(crate) fn get(&self, hash: &TokenHash) -> Option<Arc<CachedToken>> {
        self.lock().entries.get(hash).cloned()
    }

    /// The current generation. Call it before the store is read.
    pub(crate) fn generation(&self) -> CacheGeneration {
        CacheGeneration(self.lock().generation)
    }

    /// Caches an entry, unless the cache was invalidated since `read_at`.
    pub(crate) fn put(&self, hash: TokenHash, entry: Arc<CachedToken>, read_at: CacheGeneration) {
        let mut inner = self.lock();
        if let Some(at) = inner.pending.remove(&hash) {
            entry.record_use(at);
        }
        if inner.generation != read_at.0 {
            inner.keep_last_use(hash, &entry);
            return;
        }
        if inner.entries.len() >= TOKEN_CACHE
            && let Some(victim) = inner.entries.keys().next().copied()
            && let Some(entry) = inner.entries.remove(&victim)
        {
            inner.keep_last_use(victim, &entry);
        }
        inner.entries.insert(hash, entry);
    }

    /// Invalidates all entries: the permissions of any user may have changed.
    pub(crate) fn invalidate_all(&self) {
        let mut inner = self.lock();
        inner.generation += 1;
        let entries = std::mem::take(&mut inner.entries);
        for (hash, entry) in entries {
            inner.keep_last_use(hash, &entry);
        }
    }

    /// Removes a token that was revoked.
    pub(crate) fn invalidate(&self, hash: &TokenHash) {
        let mut inner = self.lock();
        inner.generation += 1;
        inner.entries.remove(hash);
        inner.pending.remove(hash);
    }

    /// Last use of a token in milliseconds since 1970; `None` if the cache has no record of it.
    pub(crate) fn last_use(&self, hash: &TokenHash) -> Option<i64> {
        let inner = self.lock();
        let entry = inner.entries.get(hash).map(|entry| entry.last_active_ms());
        entry.max(inner.pending.get(hash).copied())
    }

    /// Takes the last uses that must be written. They count as written from now on.
    pub(crate) fn take_uses(&self) -> Vec<(TokenHash, i64)> {
        let mut inner = self.lock();
        let mut uses: Vec<_> = inner.pending.drain().collect();
        for (hash, entry) in &inner.entries {
            if let Some(at) = entry.unwritten_use() {
                entry.written_ms.store(at, Ordering::Relaxed);
                uses.push((*hash, at));
            }
        }
        uses
    }

    fn lock(&self) -> MutexGuard<'_, TokenCacheInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TokenCacheInner {
    /// Keeps the last use of a removed entry. It is lost if [`TOKEN_CACHE`] uses are pending.
    fn keep_last_use(&mut self, hash: TokenHash, entry: &CachedToken) {
        if let Some(at) = entry.unwritten_use()
            && self.pending.len() < TOKEN_CACHE
        {
            self.pending.insert(hash, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PermissionSet;

    fn entry(last_active_ms: i64) -> Arc<CachedToken> {
        let identity = UserIdentity {
            user_id: String::new(),
            login: String::new(),
            display_name: String::new(),
            email: String::new(),
            is_superuser: false,
            is_remote: false,
            last_login_ms: None,
            role_ids: Vec::new(),
            inherited_role_ids: Vec::new(),
            group_ids: Vec::new(),
            token_id: None,
            permissions: Arc::new(PermissionSet::default()),
        };
        Arc::new(CachedToken::new(
            Arc::new(identity),
            None,
            None,
            last_active_ms,
        ))
    }

    fn hash(n: u32) -> TokenHash {
        let mut hash = [0; 32];
        hash[..4].copy_from_slice(&n.to_be_bytes());
        hash
    }

    #[test]
    fn what_was_read_before_a_write_does_not_come_in_after_it() {
        let cache = TokenCache::default();
        let before = cache.generation();
        cache.invalidate_all();
        cache.put(hash(1), entry(0), before);
        assert!(cache.get(&hash(1)).is_none());
        let before = cache.generation();
        cache.invalidate(&hash(2));
        cache.put(hash(1), entry(0), before);
        assert!(cache.get(&hash(1)).is_none());
        cache.put(hash(1), entry(0), cache.generation());
        assert!(cache.get(&hash(1)).is_some());
    }

    #[test]
    fn it_does_not_grow_beyond_its_bound() {
        let cache = TokenCache::default();
        for n in 0..TOKEN_CACHE as u32 * 2 {
            cache.put(hash(n), entry(0), cache.generation());
        }
        assert_eq!(cache.lock().entries.len(), TOKEN_CACHE);
        assert!(cache.lock().pending.is_empty(), "nothing was used");
    }

    #[test]
    fn uses_survive_their_entries_and_are_written_once() {
        let cache = TokenCache::default();
        cache.put(hash(1), entry(10), cache.generation());
        cache.put(hash(2), entry(10), cache.generation());
        assert_eq!(cache.take_uses(), []);
        cache.get(&hash(1)).unwrap().record_use(20);
        cache.get(&hash(1)).unwrap().record_use(15);
        cache.invalidate_all();
        assert_eq!(cache.last_use(&hash(1)), Some(20));
        assert_eq!(cache.take_uses(), [(hash(1), 20)]);
        assert_eq!(cache.take_uses(), []);
        cache.put(hash(1), entry(20), cache.generation());
        cache.get(&hash(1)).unwrap().record_use(30);
        cache.invalidate(&hash(1));
        assert_eq!(cache.take_uses(), [], "a token that ended is nobody's");
    }
}
