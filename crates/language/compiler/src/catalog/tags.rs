//! Tags of resources and of the catalog: [`TagSet`].
//!
//! Invariant: tags are valid, in lower case and unique, in the order in which they were added.

use std::sync::Arc;

use pcore::FastHashSet;

use crate::defaults::SEARCHED_TAGS_MAX;

/// An ordered set of tags. A resource has some ten, which are compared one by one.
#[derive(Debug, Clone, Default)]
pub(crate) struct TagSet {
    tags: Vec<Arc<str>>,
    /// The same tags, if there are too many to compare.
    index: Option<FastHashSet<Arc<str>>>,
}

/// A text that is not a tag; Puppet's message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Invalid tag '{0}'")]
pub(crate) struct InvalidTag(String);

impl TagSet {
    /// Adds a tag and, if it is new, the segments of its name.
    pub(crate) fn add(&mut self, tag: &str) -> Result<(), InvalidTag> {
        let tag = lower_case(tag);
        if self.contains(&tag) {
            return Ok(());
        }
        if !is_valid(&tag) {
            return Err(InvalidTag(tag.to_string()));
        }
        self.insert(tag);
        Ok(())
    }

    /// Adds a text that may be a tag, such as a title.
    pub(crate) fn add_if_valid(&mut self, text: &Arc<str>) {
        if is_valid(text) {
            let has_capitals = text.chars().any(char::is_uppercase);
            let tag = match has_capitals {
                true => text.to_lowercase().into(),
                false => Arc::clone(text),
            };
            if !self.contains(&tag) {
                self.insert(tag);
            }
        }
    }

    fn insert(&mut self, tag: Arc<str>) {
        self.push(Arc::clone(&tag));
        if !tag.contains("::") {
            return;
        }
        for segment in tag.split("::") {
            if !self.contains(segment) {
                self.push(segment.into());
            }
        }
    }

    fn push(&mut self, tag: Arc<str>) {
        if let Some(index) = &mut self.index {
            index.insert(Arc::clone(&tag));
        }
        self.tags.push(tag);
        if self.index.is_none() && self.tags.len() > SEARCHED_TAGS_MAX {
            self.index = Some(self.tags.iter().cloned().collect());
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for tag in &other.tags {
            if !self.contains(tag) {
                self.push(Arc::clone(tag));
            }
        }
    }

    pub(crate) fn contains(&self, tag: &str) -> bool {
        match &self.index {
            Some(index) => index.contains(tag),
            None => self.tags.iter().any(|known| **known == *tag),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.tags.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<str>> {
        self.tags.iter()
    }
}

fn lower_case(text: &str) -> Arc<str> {
    if text.chars().any(char::is_uppercase) {
        text.to_lowercase().into()
    } else {
        text.into()
    }
}

/// Puppet's pattern `\A[[:alnum:]_][[:alnum:]_:.-]*\Z`; letters and digits of all scripts count.
fn is_valid(text: &str) -> bool {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let mut letters = text.chars();
    let is_first = |c: char| c.is_alphanumeric() || c == '_';
    letters.next().is_some_and(is_first)
        && letters.all(|c| is_first(c) || matches!(c, ':' | '.' | '-'))
}

#[cfg(test)]
mod tests {
    use super::TagSet;

    #[test]
    fn segments_of_names_are_tags() {
        let mut tags = TagSet::default();
        tags.add("Foo::Bar").unwrap();
        tags.add("bar").unwrap();
        let all: Vec<&str> = tags.iter().map(|tag| &**tag).collect();
        assert_eq!(all, ["foo::bar", "foo", "bar"]);
    }

    #[test]
    fn other_characters_are_refused() {
        let mut tags = TagSet::default();
        assert_eq!(
            tags.add("a b").unwrap_err().to_string(),
            "Invalid tag 'a b'"
        );
        tags.add_if_valid(&"/tmp/x".into());
        assert_eq!(tags.iter().count(), 0);
    }
}
