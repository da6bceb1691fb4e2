//! The regular expressions of the Puppet language, which are Ruby's: [`Regex`].
//!
//! They are executed by `ferroni`, a Rust implementation of Oniguruma. Before that, [`translate`]
//! expands the notations that Ruby's own branch of Oniguruma interprets differently: `\w`, `\u{…}`,
//! `(?a)` and others. So `^` and `$` are always the ends of lines, `(?m)` lets the dot match a
//! newline, `\w \d \s` are ASCII, and `[[:alpha:]]` and `\b` are not.
//!
//! Known differences, each of them in the test against Ruby: in `(?i)` a class of `\w`, `[:upper:]`
//! or `[:lower:]` also matches the other case of letters beyond ASCII; `(?~abc)` stops before `abc`
//! instead of within it; a repeated look-around is refused; look-behind without a fixed length is
//! accepted if the engine can reduce it. Unicode properties are of a later Unicode than Ruby 3.1's,
//! and `\M-x` and bytes that are not UTF-8 are refused.
//!
//! Invariants: a pattern of any kind compiles or is refused with Ruby's message; a search ends
//! within the limits of [`defaults`], with an error that names the pattern.

mod cache;
mod captures;
pub mod defaults;
mod error;
mod replace;
mod search;
mod split;
mod to_ruby_text;
mod translate;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use ferroni::Syntax;
use ferroni::oniguruma::{ONIG_OPTION_EXTEND, ONIG_OPTION_IGNORECASE, ONIG_OPTION_MULTILINE};

pub use cache::RegexCache;
pub use captures::RegexCaptures;
pub use error::{RegexError, SearchError};
pub use search::RegexMatches;

/// The flags after the closing slash in Ruby, which `regsubst` accepts as `E`, `I` and `M`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RegexFlags {
    /// Flag `x`: blanks and comments in the pattern are ignored.
    pub extended: bool,
    /// Flag `i`: case is ignored.
    pub ignore_case: bool,
    /// Flag `m`: the dot matches a newline.
    pub multiline: bool,
}

/// A compiled pattern. Clones share it; patterns with the same source and flags are equal, as in
/// Ruby.
#[derive(Clone)]
pub struct Regex {
    inner: Arc<CompiledPattern>,
}

struct CompiledPattern {
    source: String,
    flags: RegexFlags,
    program: ferroni::Regex,
    /// Each name with the numbers of its groups, in the order of the first group.
    names: Vec<(String, Vec<usize>)>,
}

impl Regex {
    /// Compiles a pattern as Ruby's `Regexp.new` does.
    pub fn new(source: &str) -> Result<Self, RegexError> {
        Self::with_flags(source, RegexFlags::default())
    }

    pub fn with_flags(source: &str, flags: RegexFlags) -> Result<Self, RegexError> {
        let refused = |what: String| RegexError {
            what,
            source_text: source.to_owned(),
        };
        let pattern = translate::translate(source, flags).map_err(|what| refused(what.into()))?;
        let mut builder = ferroni::Regex::builder(&pattern)
            .syntax_mode(Syntax::Ruby)
            // The DFA serves only searches without limits.
            .dfa(false);
        for (set, option) in [
            (flags.extended, ONIG_OPTION_EXTEND),
            (flags.ignore_case, ONIG_OPTION_IGNORECASE),
            (flags.multiline, ONIG_OPTION_MULTILINE),
        ] {
            if set {
                builder = builder.option(option);
            }
        }
        let program = builder
            .build()
            .map_err(|error| refused(error::ruby_message(&error)))?;
        let mut names: Vec<(String, Vec<usize>)> = Vec::new();
        for (group, name) in program.capture_names().enumerate() {
            let Some(name) = name else { continue };
            match names.iter_mut().find(|(known, _)| known == name) {
                Some((_, groups)) => groups.push(group),
                None => names.push((name.to_owned(), vec![group])),
            }
        }
        let inner = Arc::new(CompiledPattern {
            source: source.to_owned(),
            flags,
            program,
            names,
        });
        Ok(Self { inner })
    }

    /// The source of the pattern, as it was written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.inner.source
    }

    #[must_use]
    pub fn flags(&self) -> RegexFlags {
        self.inner.flags
    }

    /// The names of groups, each with the numbers of its groups.
    #[must_use]
    pub fn names(&self) -> &[(String, Vec<usize>)] {
        &self.inner.names
    }
}

impl PartialEq for Regex {
    fn eq(&self, other: &Self) -> bool {
        self.source() == other.source() && self.flags() == other.flags()
    }
}

impl Eq for Regex {}

impl Hash for Regex {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.source().hash(state);
        self.flags().hash(state);
    }
}

impl std::fmt::Debug for Regex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.inspect())
    }
}
