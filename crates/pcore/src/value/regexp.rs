//! A regular expression as a value. Main type: [`Regexp`].
//!
//! The rule that must hold: two are equal if their sources are.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A regular expression: its source, without the slashes.
#[derive(Clone)]
pub struct Regexp {
    source: Arc<str>,
}

impl Regexp {
    /// Takes a source as it stands between the slashes, `\/` already unescaped.
    pub fn new(source: impl Into<Arc<str>>) -> Self {
        Self {
            source: source.into(),
        }
    }

    /// The source, without the slashes.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }
}

impl PartialEq for Regexp {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for Regexp {}

impl Hash for Regexp {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.source.hash(state);
    }
}

impl fmt::Debug for Regexp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/", self.source)
    }
}
