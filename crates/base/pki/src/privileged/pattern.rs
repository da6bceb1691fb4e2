//! One certname, or a set of them, as written in configuration files: [`NamePattern`].
//!
//! Invariant: [`NamePattern::matches`] grants a right and compares byte by byte;
//! [`NamePattern::may_match`] and [`NamePattern::overlaps`] withhold one, so they ignore case and
//! return true when in doubt.

use std::fmt;

use regex::{Regex, RegexBuilder};

/// A certname, or a pattern of certnames.
#[derive(Debug, Clone)]
pub enum NamePattern {
    /// `*`: matches every certname.
    Any,
    /// Matches this certname only.
    Exact(String),
    /// `*.example.com`, stored as `.example.com`: every name below the domain, not the domain
    /// itself.
    Domain(String),
    /// Matches every name in which the expression finds a match.
    Regex(NameRegex),
}

/// A regular expression over certnames.
#[derive(Debug, Clone)]
pub struct NameRegex {
    as_written: Regex,
    any_case: Regex,
}

// === impl NamePattern ===

impl NamePattern {
    /// Parses a certname, or a domain such as `*.lab.example`; `None` for anything else. `*` alone
    /// is refused, because it would match every name.
    pub fn name_or_domain(text: &str) -> Option<Self> {
        let name = text.strip_prefix("*.").unwrap_or(text);
        if name.is_empty() || name.contains(['*', '/']) {
            return None;
        }
        Some(match text.strip_prefix('*') {
            // The dot is part of the suffix, so that `*.x` does not match `evilx`.
            Some(suffix) => Self::Domain(suffix.to_owned()),
            None => Self::Exact(text.to_owned()),
        })
    }

    /// Parses a regular expression without its slashes.
    pub fn regex(expression: &str) -> Result<Self, regex::Error> {
        Ok(Self::Regex(NameRegex {
            as_written: Regex::new(expression)?,
            any_case: RegexBuilder::new(expression)
                .case_insensitive(true)
                .build()?,
        }))
    }

    /// True if the pattern matches this certname exactly as it is spelt.
    pub fn matches(&self, certname: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(name) => name == certname,
            Self::Domain(suffix) => certname.len() > suffix.len() && certname.ends_with(suffix),
            Self::Regex(regex) => regex.as_written.is_match(certname),
        }
    }

    /// True if the pattern matches this certname or another spelling of it.
    pub fn may_match(&self, certname: &str) -> bool {
        let folded = fold(certname);
        match self {
            Self::Any => true,
            Self::Exact(name) => fold(name) == folded,
            Self::Domain(suffix) => is_below(&folded, &fold(suffix)),
            Self::Regex(regex) => {
                regex.any_case.is_match(certname) || regex.any_case.is_match(&folded)
            }
        }
    }

    /// True if a certname may exist that both patterns match. For an expression with a domain or
    /// another expression this cannot be decided, so the result is then true.
    pub fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exact(name), pattern) | (pattern, Self::Exact(name)) => pattern.may_match(name),
            (Self::Domain(one), Self::Domain(two)) => {
                let (one, two) = (fold(one), fold(two));
                one.ends_with(&two) || two.ends_with(&one)
            }
            (Self::Any | Self::Regex(_), _) | (_, Self::Any | Self::Regex(_)) => true,
        }
    }
}

/// Formats the pattern as in configuration files.
impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Exact(name) => f.write_str(name),
            Self::Domain(suffix) => write!(f, "*{suffix}"),
            Self::Regex(regex) => write!(f, "/{}/", regex.as_written),
        }
    }
}

fn is_below(name: &str, suffix: &str) -> bool {
    name.len() > suffix.len() && name.ends_with(suffix)
}

/// A single form for all spellings of a name: lower case, without the trailing dot that DNS allows.
fn fold(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> NamePattern {
        match text.strip_prefix('/').and_then(|it| it.strip_suffix('/')) {
            _ if text == "*" => NamePattern::Any,
            Some(expression) => NamePattern::regex(expression).unwrap(),
            None => NamePattern::name_or_domain(text).unwrap(),
        }
    }

    #[test]
    fn a_name_or_a_domain_and_nothing_else() {
        for bad in ["", "*", "*.", "a*", "*.*.x", "../x", "*x"] {
            assert!(NamePattern::name_or_domain(bad).is_none(), "{bad}");
        }
        for good in ["db1", "*.lab.example", "*.example"] {
            assert_eq!(pattern(good).to_string(), good);
        }
    }

    #[test]
    fn rights_are_granted_to_the_exact_spelling_only() {
        for (text, name, granted) in [
            ("ops", "ops", true),
            ("ops", "OPS", false),
            ("ops", "ops.", false),
            ("*.ops.example", "a.ops.example", true),
            ("*.ops.example", "a.b.ops.example", true),
            ("*.ops.example", "ops.example", false),
            ("*.ops.example", ".ops.example", false),
            ("*.ops.example", "evilops.example", false),
            ("*.ops.example", "a.OPS.example", false),
            ("/^ops/", "ops1", true),
            ("/^ops/", "Ops1", false),
        ] {
            assert_eq!(pattern(text).matches(name), granted, "{text} {name}");
        }
    }

    #[test]
    fn rights_are_withheld_from_every_spelling() {
        for (text, name) in [
            ("ops", "OPS"),
            ("Ops", "ops"),
            ("ops", "ops."),
            ("ops.", "ops"),
            // The Kelvin sign, whose lower case is k.
            ("kiosk", "\u{212a}iosk"),
            ("*.Ops.example", "a.ops.EXAMPLE"),
            ("*.ops.example", "a.ops.example."),
            ("/^Ops/", "ops1"),
            ("/^ops$/", "ops."),
            ("*", "anything"),
        ] {
            assert!(pattern(text).may_match(name), "{text} {name}");
        }
        for (text, name) in [("ops", "ops1"), ("*.x", "x"), ("/^ops$/", "ops1")] {
            assert!(!pattern(text).may_match(name), "{text} {name}");
        }
    }

    #[test]
    fn overlaps_are_found_and_doubt_counts_as_one() {
        for (one, two) in [
            ("ops", "OPS"),
            ("*.example.com", "tutti.example.com"),
            ("*.example.com", "TUTTI.Example.Com."),
            ("*.example.com", "*.lab.example.com"),
            ("*.EXAMPLE.com", "*.example.com"),
            ("/^ops/", "ops1"),
            ("/^ops/", "*.example.com"),
            ("/^a/", "/^b/"),
            ("*", "ops"),
            ("*", "*.example.com"),
        ] {
            assert!(pattern(one).overlaps(&pattern(two)), "{one} {two}");
            assert!(pattern(two).overlaps(&pattern(one)), "{two} {one}");
        }
        for (one, two) in [
            ("ops", "dev"),
            ("*.example.com", "example.com"),
            ("*.lab.example.com", "*.prod.example.com"),
            ("*.example.com", "*.evilexample.com"),
            ("/^ops/", "dev1"),
        ] {
            assert!(!pattern(one).overlaps(&pattern(two)), "{one} {two}");
            assert!(!pattern(two).overlaps(&pattern(one)), "{two} {one}");
        }
    }
}
