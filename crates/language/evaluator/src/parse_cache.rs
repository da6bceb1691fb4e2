//! Units of parsed files. Main type: [`ParseCache`].
//!
//! Invariant: a cached unit is used only for exactly the bytes from which it was parsed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::code::LoweredUnit;
use crate::code_source::SourceFile;
use crate::defaults::PARSED_FILES_MAX;
use crate::shared_units::SharedUnits;
use crate::source_language::SourceLanguage;

/// Cache of parsed files, shared by all evaluations of a process.
#[derive(Debug, Default)]
pub struct ParseCache {
    units: Mutex<UnitsByPath>,
    /// Code of equal files in other caches.
    pub(crate) shared: Option<Arc<SharedUnits>>,
    /// True if manifests may define applications.
    pub(crate) applications: bool,
}

type UnitsByPath = HashMap<(Arc<str>, SourceLanguage), Arc<LoweredUnit>>;

impl ParseCache {
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// A cache for the files of an environment. `applications` is true if its manifests may define
    /// applications.
    #[must_use]
    pub fn of_environment(shared: Option<Arc<SharedUnits>>, applications: bool) -> Arc<Self> {
        Arc::new(Self {
            units: Mutex::default(),
            shared,
            applications,
        })
    }

    /// The unit of a file with the same path and bytes.
    pub(crate) fn find(
        &self,
        file: &SourceFile,
        language: SourceLanguage,
    ) -> Option<Arc<LoweredUnit>> {
        let key = (Arc::clone(&file.path), language);
        let units = self.lock();
        let kept = units.get(&key)?;
        (kept.ast.source().text().as_bytes() == &*file.bytes).then(|| Arc::clone(kept))
    }

    /// Keeps the unit of a file in place of an older one.
    pub(crate) fn insert(
        &self,
        file: &SourceFile,
        language: SourceLanguage,
        unit: &Arc<LoweredUnit>,
    ) {
        let mut units = self.lock();
        if units.len() >= PARSED_FILES_MAX {
            forget_some(&mut units);
        }
        let key = (Arc::clone(&file.path), language);
        units.insert(key, Arc::clone(unit));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, UnitsByPath> {
        self.units.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the units that no evaluation uses, and every second one if all are used.
fn forget_some(units: &mut UnitsByPath) {
    units.retain(|_, unit| Arc::strong_count(unit) > 1);
    if units.len() >= PARSED_FILES_MAX {
        let mut is_kept = false;
        units.retain(|_, _| {
            is_kept = !is_kept;
            is_kept
        });
    }
}
