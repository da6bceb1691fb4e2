//! Names that a request for files leaves out: [`IgnoredNames`].

use glob::{MatchOptions, Pattern};

/// Patterns of the shell for names of files. As in Ruby, a `*` does not stand for a leading dot.
#[derive(Debug, Clone, Default)]
pub struct IgnoredNames {
    patterns: Vec<Pattern>,
}

/// As Ruby's `File.fnmatch` without flags.
const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: false,
    require_literal_leading_dot: true,
};

impl IgnoredNames {
    /// Patterns; one that is not valid stands for its own text.
    pub fn new<'t>(patterns: impl IntoIterator<Item = &'t str>) -> Self {
        let patterns = patterns.into_iter().map(|text| {
            let literal = || Pattern::new(&Pattern::escape(text));
            Pattern::new(text).or_else(|_| literal())
        });
        Self {
            patterns: patterns.filter_map(Result::ok).collect(),
        }
    }

    /// True if a name is left out.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        let mut patterns = self.patterns.iter();
        patterns.any(|pattern| pattern.matches_with(name, OPTIONS))
    }
}

#[cfg(test)]
mod tests {
    use super::IgnoredNames;

    #[test]
    fn patterns_are_those_of_ruby() {
        let ignored = IgnoredNames::new([".svn", "*.swp", "a?", "[x"]);
        for name in [".svn", "b.swp", "ab", "[x"] {
            assert!(ignored.contains(name), "{name}");
        }
        for name in ["svn", ".b.swp", "abc", "x"] {
            assert!(!ignored.contains(name), "{name}");
        }
    }
}
