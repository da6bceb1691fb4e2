//! Ruby's `sub` and `gsub`: [`Regex::replace`].
//!
//! In a replacement, `\0` and `\&` are the match, `\1` to `\9` and `\k<name>` its groups, `` \` ``
//! and `\'` the text before and after it, `\\` a backslash; a backslash before any other character
//! stays.

use crate::defaults::MAX_REPLACED_BYTES;
use crate::error::shorten_pattern;
use crate::{Regex, RegexCaptures, SearchError};

impl Regex {
    /// Replaces the first match, or all of them, by a replacement with references to groups.
    pub fn replace(&self, text: &str, replacement: &str, all: bool) -> Result<String, SearchError> {
        self.replace_with(text, all, |found, into| expand(found, replacement, into))
    }

    /// Replaces the first match, or all of them, by the text that `with` appends for each.
    pub fn replace_with<E: From<SearchError>>(
        &self,
        text: &str,
        all: bool,
        mut with: impl FnMut(&RegexCaptures<'_>, &mut String) -> Result<(), E>,
    ) -> Result<String, E> {
        let mut replaced = String::new();
        let mut copied = 0;
        for found in self.matches(text) {
            let found = found?;
            // `\K` and look-behind may let a match begin before the end of the previous one.
            replaced.push_str(text.get(copied..found.whole.start).unwrap_or_default());
            with(&found, &mut replaced)?;
            if replaced.len() > MAX_REPLACED_BYTES {
                let pattern = shorten_pattern(self.source());
                return Err(SearchError::TooLong { pattern }.into());
            }
            copied = found.whole.end;
            if !all {
                break;
            }
        }
        replaced.push_str(text.get(copied..).unwrap_or_default());
        Ok(replaced)
    }
}

/// Appends a replacement with its references expanded.
fn expand(
    found: &RegexCaptures<'_>,
    replacement: &str,
    into: &mut String,
) -> Result<(), SearchError> {
    let mut rest = replacement;
    while let Some(at) = rest.find('\\') {
        into.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(selector) = rest.chars().next() else {
            into.push('\\');
            break;
        };
        let after = &rest[selector.len_utf8()..];
        let text = match selector {
            '0' | '&' => found.get(0),
            // If groups have names, their numbers are not references.
            '1'..='9' if !found.regex.names().is_empty() => None,
            '1'..='9' => found.get(selector as usize - '0' as usize),
            '`' => Some(found.text_before()),
            '\'' => Some(found.text_after()),
            '\\' => Some("\\"),
            'k' if after.starts_with('<') => {
                let name = after[1..].split_once('>');
                let (name, after) = name.ok_or_else(|| missing_group_error(found, &after[1..]))?;
                into.push_str(named(found, name)?.unwrap_or_default());
                rest = after;
                continue;
            }
            other => {
                into.push('\\');
                into.push(other);
                rest = after;
                continue;
            }
        };
        into.push_str(text.unwrap_or_default());
        rest = after;
    }
    into.push_str(rest);
    Ok(())
}

fn named<'t>(found: &RegexCaptures<'t>, name: &str) -> Result<Option<&'t str>, SearchError> {
    let mut names = found.regex.names().iter();
    if names.any(|(known, _)| known == name) {
        Ok(found.name(name))
    } else {
        Err(missing_group_error(found, name))
    }
}

fn missing_group_error(found: &RegexCaptures<'_>, name: &str) -> SearchError {
    SearchError::NoSuchGroup {
        pattern: shorten_pattern(found.regex.source()),
        name: name.to_owned(),
    }
}
