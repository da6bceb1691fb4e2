//! Searches for one match or all matches in a text: [`RegexMatches`].
//!
//! Invariant: after an empty match the search continues one character later, and an empty match may
//! follow a match at its very end, as in Ruby's `scan` and `gsub`.

use ferroni::SearchOptions;

use crate::defaults::{MAX_BACKTRACKS, MAX_CHOICE_POINTS, MAX_SEARCH_TIME};
use crate::{Regex, RegexCaptures, SearchError};

fn limits() -> SearchOptions {
    SearchOptions::new()
        .retry_limit_in_match(MAX_BACKTRACKS)
        .retry_limit_in_search(MAX_BACKTRACKS)
        .match_stack_limit(MAX_CHOICE_POINTS)
        .timeout(MAX_SEARCH_TIME)
}

impl Regex {
    /// True if the pattern matches anywhere in the text.
    pub fn is_match(&self, text: &str) -> Result<bool, SearchError> {
        self.inner
            .program
            .is_match_with(text, limits())
            .map_err(|error| SearchError::from_engine(&error, self.source()))
    }

    /// The first match; `None` if there is none.
    pub fn captures<'t>(&self, text: &'t str) -> Result<Option<RegexCaptures<'t>>, SearchError> {
        self.captures_from(text, 0)
    }

    /// All matches, each after the previous one.
    #[must_use]
    pub fn matches<'t>(&self, text: &'t str) -> RegexMatches<'t> {
        RegexMatches {
            regex: self.clone(),
            text,
            from: Some(0),
        }
    }

    /// The first match at or after the byte offset `from`; the text before it still counts as
    /// context.
    pub(crate) fn captures_from<'t>(
        &self,
        text: &'t str,
        from: usize,
    ) -> Result<Option<RegexCaptures<'t>>, SearchError> {
        let found = self
            .inner
            .program
            .captures_at_with(text, from, limits())
            .map_err(|error| SearchError::from_engine(&error, self.source()))?;
        Ok(found.and_then(|found| {
            let whole = found.get(0)?.range();
            let groups = (1..found.len())
                .map(|group| found.get(group).map(|it| it.range()))
                .collect();
            Some(RegexCaptures {
                regex: self.clone(),
                text,
                whole,
                groups,
            })
        }))
    }
}

/// Iterator over the matches of a pattern in a text. Ends after an error.
#[derive(Debug)]
pub struct RegexMatches<'t> {
    regex: Regex,
    text: &'t str,
    /// Byte offset of the next search; `None` at the end.
    from: Option<usize>,
}

impl<'t> Iterator for RegexMatches<'t> {
    type Item = Result<RegexCaptures<'t>, SearchError>;

    fn next(&mut self) -> Option<Self::Item> {
        let from = self.from.take()?;
        match self.regex.captures_from(self.text, from) {
            Ok(found) => {
                let found = found?;
                self.from = match found.whole.is_empty() {
                    true => step(self.text, found.whole.end),
                    false => Some(found.whole.end),
                };
                Some(Ok(found))
            }
            Err(error) => Some(Err(error)),
        }
    }
}

/// The offset one character later; `None` at the end of the text.
pub(crate) fn step(text: &str, at: usize) -> Option<usize> {
    let next = text.get(at..)?.chars().next()?;
    Some(at + next.len_utf8())
}
