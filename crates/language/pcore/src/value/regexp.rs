//! A regular expression as a value. Main type: [`Regexp`].
//!
//! It is compiled at first use.
//!
//! Invariant: two regular expressions are equal if their sources are.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use ruby_regex::{Regex, RegexError};

/// A regular expression: its source, without the slashes.
#[derive(Clone)]
pub struct Regexp(Arc<RegexpSource>);

struct RegexpSource {
    source: Box<str>,
    compiled: OnceLock<Result<Regex, RegexError>>,
}

impl Regexp {
    /// Creates it from a source without slashes, with `\/` already unescaped. An invalid source is
    /// reported when it is compiled.
    pub fn new(source: impl Into<Box<str>>) -> Self {
        Self(Arc::new(RegexpSource {
            source: source.into(),
            compiled: OnceLock::new(),
        }))
    }

    /// Creates it from a source that is compiled immediately.
    pub fn compile(source: &str) -> Result<Self, RegexError> {
        let regexp = Self::new(source);
        match regexp.regex() {
            Ok(_) => Ok(regexp),
            Err(error) => Err(error.clone()),
        }
    }

    /// The compiled regular expression.
    pub fn regex(&self) -> Result<&Regex, &RegexError> {
        self.0
            .compiled
            .get_or_init(|| Regex::new(&self.0.source))
            .as_ref()
    }

    /// True if it matches anywhere in a text. An invalid pattern matches nothing, and neither does
    /// a search that exceeds its limits, because type checks cannot fail.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.regex()
            .is_ok_and(|regex| regex.is_match(text).unwrap_or(false))
    }

    /// The source, without the slashes.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.0.source
    }
}

impl PartialEq for Regexp {
    fn eq(&self, other: &Self) -> bool {
        self.source() == other.source()
    }
}

impl Eq for Regexp {}

impl Hash for Regexp {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.source().hash(state);
    }
}

impl fmt::Debug for Regexp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/", self.source())
    }
}
