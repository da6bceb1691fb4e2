//! Titles, and the attributes that they set: [`TitlePattern`].
//!
//! Invariant: a title is taken apart by the first pattern that matches, in time that the limits of
//! `ruby-regex` bound.

use ruby_regex::{Regex, RegexError, RegexFlags, SearchError};

use crate::ResourceType;

/// A pattern with the attributes that its groups set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TitlePattern {
    source: Box<str>,
    flags: RegexFlags,
    attributes: Vec<Box<str>>,
    /// `None` if the pattern is [`WHOLE_TITLE`], which nearly all types have.
    regex: Option<Regex>,
}

/// The pattern of a type that declares none, with the flag `m`.
const WHOLE_TITLE: &str = "(.*)";
/// The same in files of `puppet generate types`, without the flag.
const PRINTED_WHOLE_TITLE: &str = "(?m-ix:(.*))";

/// A title that sets no attributes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TitleError {
    /// No pattern matches; Puppet's message.
    #[error("No set of title patterns matched the title \"{title}\".")]
    NoPatternMatched {
        /// The title.
        title: String,
    },
    /// A pattern that takes too long.
    #[error("cannot match the title \"{title}\": {cause}")]
    Search {
        /// The title.
        title: String,
        /// The limit that was exceeded.
        cause: SearchError,
    },
}

impl TitlePattern {
    /// A pattern in Ruby's notation. Group 1 sets the first attribute, and so on.
    pub fn new(source: &str, flags: RegexFlags, attributes: &[&str]) -> Result<Self, RegexError> {
        let is_plain = source == WHOLE_TITLE && flags == whole_title_flags();
        let is_printed = source == PRINTED_WHOLE_TITLE && flags == RegexFlags::default();
        let regex = match is_plain || is_printed {
            true => None,
            false => Some(Regex::with_flags(source, flags)?),
        };
        Ok(Self {
            source: source.into(),
            flags,
            attributes: attributes.iter().map(|&name| name.into()).collect(),
            regex,
        })
    }

    /// The pattern that sets one attribute to the title.
    #[must_use]
    pub fn whole_title(attribute: &str) -> Self {
        Self {
            source: WHOLE_TITLE.into(),
            flags: whole_title_flags(),
            attributes: vec![attribute.into()],
            regex: None,
        }
    }

    /// Source in Ruby's notation, without slashes.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    #[must_use]
    pub fn flags(&self) -> RegexFlags {
        self.flags
    }

    /// Names of the attributes that the groups set, in the order of the groups.
    pub fn attributes(&self) -> impl ExactSizeIterator<Item = &str> {
        self.attributes.iter().map(|name| &**name)
    }

    /// The attributes that a title sets; `None` if it does not match.
    fn parse<'s>(&'s self, title: &'s str) -> Result<Option<TitleParts<'s>>, SearchError> {
        let groups: Vec<Option<&str>> = match &self.regex {
            None if self.attributes.len() == 1 => {
                return Ok(Some(vec![(&self.attributes[0], Some(title))]));
            }
            None => vec![Some(title)],
            Some(regex) => match regex.captures(title)? {
                Some(found) => (1..found.len()).map(|group| found.get(group)).collect(),
                None => return Ok(None),
            },
        };
        let mut parts: TitleParts<'_> = Vec::with_capacity(self.attributes.len());
        for (index, attribute) in self.attributes().enumerate() {
            let value = groups.get(index).copied().flatten();
            match parts.iter_mut().find(|(known, _)| *known == attribute) {
                Some((_, known)) => *known = value,
                None => parts.push((attribute, value)),
            }
        }
        Ok(Some(parts))
    }
}

/// Attributes with the parts of a title; `None` where a group did not take part in the match.
type TitleParts<'t> = Vec<(&'t str, Option<&'t str>)>;

fn whole_title_flags() -> RegexFlags {
    RegexFlags {
        multiline: true,
        ..RegexFlags::default()
    }
}

impl ResourceType {
    /// The attributes that a title sets, in the order of the pattern (Puppet's `parse_title`). The
    /// value is `None` where a group did not take part in the match. They hold unless the resource
    /// sets the attribute itself.
    pub fn parse_title<'t>(
        &'t self,
        title: &'t str,
    ) -> Result<Vec<(&'t str, Option<&'t str>)>, TitleError> {
        let Some(patterns) = &self.title_patterns else {
            return Ok(vec![("name", Some(title))]);
        };
        for pattern in patterns {
            match pattern.parse(title) {
                Ok(None) => {}
                Ok(Some(parts)) => return Ok(parts),
                Err(cause) => {
                    let title = title.to_owned();
                    return Err(TitleError::Search { title, cause });
                }
            }
        }
        Err(TitleError::NoPatternMatched {
            title: title.to_owned(),
        })
    }
}
