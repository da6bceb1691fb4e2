//! `strip_component`: the part that is removed from branch names. Main type: [`BranchStrip`].

use std::borrow::Cow;

use ruby_regex::{Regex, RegexError, SearchError};

/// The part to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchStrip {
    /// A fixed text at the beginning of names.
    Begin(String),
    /// All matches of an expression, at any position.
    Matches(Regex),
}

// === impl BranchStrip ===

impl BranchStrip {
    /// Parses r10k's notation: a text between slashes is a regular expression of Ruby.
    ///
    /// # Errors
    /// The regular expression is invalid in Ruby.
    pub fn parse(text: &str) -> Result<Self, RegexError> {
        let inner = text.strip_prefix('/').and_then(|it| it.strip_suffix('/'));
        match inner {
            Some(inner) => Regex::new(inner).map(Self::Matches),
            None => Ok(Self::Begin(text.to_owned())),
        }
    }

    /// Removes the part from a name.
    pub fn strip<'n>(&self, name: &'n str) -> Result<Cow<'n, str>, SearchError> {
        match self {
            Self::Begin(begin) => Ok(name.strip_prefix(begin.as_str()).unwrap_or(name).into()),
            Self::Matches(regex) => regex.replace(name, "", true).map(Cow::Owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_slashes_it_is_a_regular_expression() {
        let left = |strip: &str, name: &str| {
            BranchStrip::parse(strip)
                .unwrap()
                .strip(name)
                .unwrap()
                .into_owned()
        };
        assert_eq!(left("env/", "env/a"), "a");
        assert_eq!(left("env/", "a/env/b"), "a/env/b");
        assert_eq!(left("/^env_/", "env_a_env_b"), "a_env_b");
        assert_eq!(left("/env_/", "env_a_env_b"), "a_b");
        assert_eq!(left(r"/(?<=a)\d+/", "a17b2"), "ab2");
        assert_eq!(left("/", "/a"), "a");
        assert!(BranchStrip::parse("/(/").is_err());
    }

    #[test]
    fn what_takes_too_long_is_no_name() {
        let strip = BranchStrip::parse("/(?:(?:a|a?)+)+$/").unwrap();
        let name = format!("{}b", "a".repeat(200));
        assert!(strip.strip(&name).is_err());
    }
}
