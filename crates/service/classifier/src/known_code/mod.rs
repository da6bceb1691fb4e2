//! The known environments and classes, which groups can use. Main type: [`KnownCode`].
//!
//! Invariants: the known classes of an environment are the last complete answer of the
//! [`ClassSource`]; an environment that could not be read keeps its classes and is marked;
//! readings run one at a time, and many simultaneous requests for one cause a single further
//! reading.

mod announced_environments;
mod puppetserver;
mod refresh;
mod source;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use partial_debug::partial_debug;
use store::now_ms;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::Classifier;
use crate::defaults::{CLASSES, CLASSES_ENVIRONMENTS};

pub use announced_environments::AnnounceError;
pub use puppetserver::PuppetserverClasses;
pub use refresh::ClassRefresh;
pub use source::{ClassSource, ClassSourceError, PuppetClass};

/// A snapshot of the known environments and classes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownCode {
    /// The environments by name.
    pub environments: BTreeMap<String, KnownEnvironment>,
    /// Time of the last complete reading, in milliseconds since 1970; `None` if there was none
    /// since the start.
    pub last_update_ms: Option<i64>,
}

/// An environment with its known classes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownEnvironment {
    /// The classes, sorted by name.
    pub classes: Arc<Vec<PuppetClass>>,
    /// `true` if the last reading of this environment succeeded.
    pub synced: bool,
}

/// The part of the classifier that holds the known code.
#[derive(Default)]
pub(crate) struct CodeCatalog {
    source: OnceLock<Arc<dyn ClassSource>>,
    current: ArcSwap<KnownCode>,
    /// Held while classes are read; the value is the start of the last complete successful
    /// reading.
    last_full_reading: Mutex<Option<Instant>>,
}

impl Classifier {
    /// Sets the source of classes. Only the first call has an effect.
    pub fn set_class_source(&self, source: Arc<dyn ClassSource>) {
        // With a replaceable source, answers would depend on the order of the calls.
        let _ = self.code_catalog().source.set(source);
    }

    /// Returns `true` if a source of classes is set.
    pub fn has_class_source(&self) -> bool {
        self.code_catalog().source.get().is_some()
    }

    /// The environments and classes that were read last.
    pub fn known_code(&self) -> Arc<KnownCode> {
        self.code_catalog().current.load_full()
    }

    /// Reads the classes of all environments or of one. Does nothing without a source.
    ///
    /// # Errors
    /// The source does not answer, or not for every environment; the classes that could be read
    /// are known afterwards.
    pub async fn update_classes(&self, environment: Option<&str>) -> Result<(), ClassSourceError> {
        let Some(source) = self.code_catalog().source.get() else {
            return Ok(());
        };
        let asked = Instant::now();
        let mut turn = self.code_catalog().last_full_reading.lock().await;
        if turn.is_some_and(|began| began > asked) {
            // A complete reading took place while this one waited.
            let known = self.known_code();
            return match environment {
                Some(name) if !known.environments.contains_key(name) => {
                    Err(ClassSourceError::UnknownEnvironment(name.to_owned()))
                }
                _ => Ok(()),
            };
        }
        let began = Instant::now();
        match environment {
            Some(name) => self.read_one(&**source, name).await,
            None => {
                self.read_all(&**source).await?;
                *turn = Some(began);
                Ok(())
            }
        }
    }

    async fn read_all(&self, source: &dyn ClassSource) -> Result<(), ClassSourceError> {
        let mut names = source.environments().await?;
        if names.len() > CLASSES_ENVIRONMENTS {
            tracing::warn!(
                environments = names.len(),
                "too many environments; classes of the rest are not read"
            );
            names.truncate(CLASSES_ENVIRONMENTS);
        }
        let before = self.known_code();
        let mut known = KnownCode::default();
        let mut failed = None;
        for name in names {
            let read = match source.classes(&name).await {
                Ok(classes) => known.bounded_environment(&name, classes),
                // The environment was removed after the list was read.
                Err(ClassSourceError::UnknownEnvironment(_)) => continue,
                Err(error) => {
                    let kept = before.environments.get(&name).cloned();
                    failed.get_or_insert(error);
                    unsynced(kept)
                }
            };
            known.environments.insert(name, read);
        }
        known.last_update_ms = match &failed {
            None => Some(now_ms()),
            Some(_) => before.last_update_ms,
        };
        self.code_catalog().current.store(Arc::new(known));
        failed.map_or(Ok(()), Err)
    }

    async fn read_one(&self, source: &dyn ClassSource, name: &str) -> Result<(), ClassSourceError> {
        let told = source.classes(name).await;
        let mut known = KnownCode::clone(&self.known_code());
        let entry = known.environments.remove(name);
        let outcome = match told {
            Ok(classes) => {
                let entry = known.bounded_environment(name, classes);
                known.environments.insert(name.to_owned(), entry);
                Ok(())
            }
            Err(error) => {
                let is_gone = matches!(error, ClassSourceError::UnknownEnvironment(_));
                if entry.is_some() && !is_gone {
                    known.environments.insert(name.to_owned(), unsynced(entry));
                }
                Err(error)
            }
        };
        self.code_catalog().current.store(Arc::new(known));
        outcome
    }
}

impl KnownCode {
    /// The entry of an environment, with its classes if the limit on the total number allows it.
    fn bounded_environment(&self, name: &str, mut classes: Vec<PuppetClass>) -> KnownEnvironment {
        let others = self.environments.values();
        let count: usize = others.map(|known| known.classes.len()).sum();
        if self.environments.len() >= CLASSES_ENVIRONMENTS || count + classes.len() > CLASSES {
            tracing::warn!(
                environment = name,
                "too many classes or environments; the classes of this one are not kept"
            );
            return unsynced(None);
        }
        classes.sort_by(|a, b| a.name.cmp(&b.name));
        KnownEnvironment {
            classes: Arc::new(classes),
            synced: true,
        }
    }
}

fn unsynced(kept: Option<KnownEnvironment>) -> KnownEnvironment {
    KnownEnvironment {
        synced: false,
        ..kept.unwrap_or_default()
    }
}

partial_debug!(CodeCatalog {});

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(count: usize) -> Vec<PuppetClass> {
        let class = |index| PuppetClass {
            name: format!("c{index}"),
            parameters: serde_json::Map::new(),
        };
        (0..count).map(class).collect()
    }

    #[test]
    fn classes_have_a_bound_over_all_environments_however_they_come() {
        let mut known = KnownCode::default();
        let most = known.bounded_environment("a", classes(CLASSES));
        assert!(most.synced);
        known.environments.insert("a".to_owned(), most);
        assert!(known.bounded_environment("b", Vec::new()).synced);
        assert_eq!(known.bounded_environment("b", classes(1)), unsynced(None));
        for index in 1..CLASSES_ENVIRONMENTS {
            known
                .environments
                .insert(format!("e{index}"), unsynced(None));
        }
        assert_eq!(known.bounded_environment("b", Vec::new()), unsynced(None));
    }
}
