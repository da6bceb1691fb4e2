//! Code of equal files, shared by environments: [`SharedUnits`].
//!
//! Versions of an environment differ in a few files. The code of all others is in memory once, with a
//! path for each version.
//!
//! Invariants: code is shared only by files with the same bytes, the same language (with or without
//! applications) and the same namespace; it is dropped with the last environment that uses it.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use syntax::ModuleLocation;

use crate::code::UnitCode;
use crate::source_language::SourceLanguage;

/// Code of files by their contents. It has no effect on results.
#[derive(Debug, Default)]
pub struct SharedUnits {
    hasher: RandomState,
    units: Mutex<SharedUnitTable>,
}

#[derive(Debug, Default)]
struct SharedUnitTable {
    by_hash: HashMap<u64, Vec<SharedUnit>>,
    /// Number of entries after which those without an environment are removed.
    sweep_at: usize,
    number: usize,
}

#[derive(Debug)]
struct SharedUnit {
    language: SourceLanguage,
    applications: bool,
    namespace: Namespace,
    code: Weak<UnitCode>,
}

/// Prefix of the names that a file may define; `None` outside of modules, and `Some(None)` where
/// nothing may be defined.
type Namespace = Option<Option<String>>;

/// Entries of a table that is never swept.
const SWEEP_MIN: usize = 256;

/// The properties of a file that decide its code.
#[derive(Debug, Clone)]
pub(crate) struct UnitIdentity<'s> {
    text: &'s str,
    language: SourceLanguage,
    /// True if the file may define applications.
    applications: bool,
    namespace: Namespace,
}

impl<'s> UnitIdentity<'s> {
    pub(crate) fn new(
        text: &'s str,
        (language, applications): (SourceLanguage, bool),
        location: Option<&ModuleLocation>,
    ) -> Self {
        let namespace = location.map(|it| it.namespace().map(str::to_owned));
        Self {
            text,
            language,
            applications,
            namespace,
        }
    }
}

impl SharedUnits {
    /// The code of a file with the same properties, if an environment has it.
    pub(crate) fn find(&self, file: &UnitIdentity<'_>) -> Option<Arc<UnitCode>> {
        let table = self.lock();
        let candidates = table.by_hash.get(&self.hash(file))?;
        let mut fitting = candidates.iter().filter(|it| {
            it.language == file.language
                && it.applications == file.applications
                && it.namespace == file.namespace
        });
        fitting.find_map(|it| {
            let code = it.code.upgrade()?;
            (**code.ast.source().text() == *file.text).then_some(code)
        })
    }

    /// Makes the code of a file known to other environments.
    pub(crate) fn insert(&self, file: UnitIdentity<'_>, code: &Arc<UnitCode>) {
        let hash = self.hash(&file);
        let mut table = self.lock();
        table.number += 1;
        if table.number > table.sweep_at {
            table.sweep();
        }
        table.by_hash.entry(hash).or_default().push(SharedUnit {
            language: file.language,
            applications: file.applications,
            namespace: file.namespace,
            code: Arc::downgrade(code),
        });
    }

    fn hash(&self, file: &UnitIdentity<'_>) -> u64 {
        self.hasher
            .hash_one((file.text, file.language, file.applications, &file.namespace))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, SharedUnitTable> {
        self.units.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SharedUnitTable {
    /// Removes the entries whose code was dropped.
    fn sweep(&mut self) {
        self.by_hash.retain(|_, units| {
            units.retain(|it| it.code.strong_count() > 0);
            !units.is_empty()
        });
        self.number = self.by_hash.values().map(Vec::len).sum::<usize>() + 1;
        self.sweep_at = (self.number * 2).max(SWEEP_MIN);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{SharedUnits, UnitIdentity};
    use crate::budget::StackBudget;
    use crate::code::LoweredUnit;
    use crate::code_source::SourceFile;
    use crate::parse_cache::ParseCache;
    use crate::source_language::SourceLanguage;

    fn parse(cache: &ParseCache, path: &str, text: &str) -> Arc<LoweredUnit> {
        let file = SourceFile {
            path: path.into(),
            bytes: text.as_bytes().into(),
        };
        let stack = StackBudget::from_here(1 << 20);
        let unit = cache.parse_file(&file, SourceLanguage::Manifest, None, stack);
        unit.unwrap()
    }

    #[test]
    fn equal_files_share_their_code_and_keep_their_paths() {
        let shared = Arc::new(SharedUnits::default());
        let caches = [(); 2].map(|()| ParseCache::of_environment(Some(Arc::clone(&shared)), false));
        let text = "notify { 'a': }";
        let first = parse(&caches[0], "/1/site.pp", text);
        let second = parse(&caches[1], "/2/site.pp", text);
        assert!(Arc::ptr_eq(first.shared_code(), second.shared_code()));
        let path = |unit: &LoweredUnit| unit.path().map(ToString::to_string);
        assert_eq!(path(&first).as_deref(), Some("/1/site.pp"));
        assert_eq!(path(&second).as_deref(), Some("/2/site.pp"));
        let other = parse(&caches[1], "/2/other.pp", "notify { 'b': }");
        assert!(!Arc::ptr_eq(first.shared_code(), other.shared_code()));
    }

    #[test]
    fn code_is_dropped_with_its_last_environment() {
        let shared = Arc::new(SharedUnits::default());
        let text = "notify { 'a': }";
        let cache = ParseCache::of_environment(Some(Arc::clone(&shared)), false);
        drop(parse(&cache, "/1/site.pp", text));
        let identity = || UnitIdentity::new(text, (SourceLanguage::Manifest, false), None);
        assert!(shared.find(&identity()).is_some());
        let template = UnitIdentity::new(text, (SourceLanguage::CatalogTemplate, false), None);
        assert!(shared.find(&template).is_none());
        drop(cache);
        assert!(shared.find(&identity()).is_none());
        for number in 0..10_000 {
            let cache = ParseCache::of_environment(Some(Arc::clone(&shared)), false);
            parse(&cache, "/1/site.pp", &format!("notify {{ '{number}': }}"));
        }
        assert!(shared.lock().number <= super::SWEEP_MIN + 1);
    }
}
