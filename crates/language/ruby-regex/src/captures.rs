//! The result of a search: [`RegexCaptures`], Ruby's `MatchData`.

use std::ops::Range;

use crate::Regex;

/// A match and its groups. Group 0 is the whole match.
#[derive(Debug, Clone)]
pub struct RegexCaptures<'t> {
    pub(crate) regex: Regex,
    pub(crate) text: &'t str,
    pub(crate) whole: Range<usize>,
    /// The groups, from number 1.
    pub(crate) groups: Vec<Option<Range<usize>>>,
}

impl<'t> RegexCaptures<'t> {
    /// The text of a group; `None` if there is no such group or it did not take part in the match.
    #[must_use]
    pub fn get(&self, group: usize) -> Option<&'t str> {
        self.text.get(self.span(group)?)
    }

    /// The range of a group in bytes; `None` as for [`get`](Self::get).
    #[must_use]
    pub fn span(&self, group: usize) -> Option<Range<usize>> {
        match group {
            0 => Some(self.whole.clone()),
            group => self.groups.get(group - 1)?.clone(),
        }
    }

    /// The text of the last group with this name that took part in the match.
    #[must_use]
    pub fn name(&self, name: &str) -> Option<&'t str> {
        let (_, groups) = self.regex.names().iter().find(|(known, _)| known == name)?;
        groups.iter().rev().find_map(|group| self.get(*group))
    }

    /// The texts of all groups, the whole match first.
    pub fn iter(&self) -> impl Iterator<Item = Option<&'t str>> + '_ {
        (0..=self.groups.len()).map(|group| self.get(group))
    }

    /// Number of groups, including the whole match.
    #[must_use]
    #[expect(
        clippy::len_without_is_empty,
        reason = "the whole match is always there"
    )]
    pub fn len(&self) -> usize {
        self.groups.len() + 1
    }

    /// The text before the match.
    #[must_use]
    pub fn text_before(&self) -> &'t str {
        self.text.get(..self.whole.start).unwrap_or_default()
    }

    /// The text after the match.
    #[must_use]
    pub fn text_after(&self) -> &'t str {
        self.text.get(self.whole.end..).unwrap_or_default()
    }
}
