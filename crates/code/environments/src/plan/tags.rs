//! The comment above a plan, parsed as in Puppet Strings: [`CommentTags`].
//!
//! Invariant: a tag begins its line with `@`, and continues in the indented lines below it.

use std::collections::HashMap;

/// The text and tags of a comment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CommentTags {
    /// The text outside of the tags.
    pub(super) text: String,
    pub(super) summary: Option<String>,
    /// Texts of `@param` by parameter name.
    pub(super) parameters: HashMap<String, String>,
    /// True for `@api private`, or the older form `@private true`.
    pub(super) private: bool,
}

// === impl CommentTags ===

impl CommentTags {
    /// Parses the lines of a comment, without their comment marks.
    pub(super) fn parse(lines: &[&str]) -> Self {
        let mut tags = Self::default();
        let mut text: Vec<&str> = Vec::new();
        let mut lines = lines.iter().peekable();
        while let Some(line) = lines.next() {
            let Some(tag) = line.strip_prefix('@') else {
                text.push(line.trim_end());
                continue;
            };
            let (name, rest) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
            let mut words = vec![rest.trim()];
            while let Some(more) = lines.next_if(|line| line.starts_with([' ', '\t'])) {
                words.push(more.trim());
            }
            tags.take_tag(name, words.join(" ").trim());
        }
        tags.text = text.join("\n").trim().to_owned();
        tags
    }

    fn take_tag(&mut self, tag: &str, words: &str) {
        match tag {
            "summary" => self.summary = Some(words.to_owned()),
            "api" => self.private |= words == "private",
            "private" => self.private |= words == "true",
            "param" => {
                let (name, about) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
                let name = name.trim_start_matches('$').to_owned();
                self.parameters.insert(name, about.trim().to_owned());
            }
            _ => {}
        }
    }

    /// The description that lists show.
    pub(super) fn description(&self) -> Option<String> {
        let text = self.summary.as_deref().unwrap_or(&self.text);
        Some(text.to_owned()).filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_go_on_in_indented_lines_and_the_rest_is_text() {
        let tags = CommentTags::parse(&[
            "Restarts the shop.",
            "",
            "@summary Restart,",
            "  one after the other",
            "@param targets Where.",
            "@param $count How many",
            "\tat once.",
            "@see other",
            "Behind the load balancer.",
            "@param bare",
        ]);
        assert_eq!(
            tags.description().as_deref(),
            Some("Restart, one after the other")
        );
        assert_eq!(tags.text, "Restarts the shop.\n\nBehind the load balancer.");
        assert_eq!(tags.parameters["targets"], "Where.");
        assert_eq!(tags.parameters["count"], "How many at once.");
        assert_eq!(tags.parameters["bare"], "");
        assert!(!tags.private);
    }

    #[test]
    fn a_plan_is_private_in_the_new_words_and_the_old() {
        for (line, private) in [
            ("@api private", true),
            ("@private true", true),
            ("@api public", false),
            ("@private false", false),
            ("private", false),
        ] {
            assert_eq!(CommentTags::parse(&[line]).private, private, "{line}");
        }
        assert_eq!(CommentTags::parse(&[]), CommentTags::default());
        assert_eq!(CommentTags::parse(&["", " "]).description(), None);
    }
}
