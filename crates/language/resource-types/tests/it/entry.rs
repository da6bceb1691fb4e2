//! Invariants for fuzzing and property tests with arbitrary text: no panic; a second reading has the
//! same result; an error has a line of the file; a type that is read takes titles apart.

use std::sync::Arc;

use resource_types::{
    ResourceType, RubyLibrary, StaticReading, read_generated_type, read_ruby_type,
};
use syntax::SourceText;

/// Length of the longest title; patterns may take exponential time, which is bounded, but long.
const TITLE_CHARS: usize = 30;

/// A file of `puppet generate types`.
pub(crate) fn generated_type(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let source = Arc::new(SourceText::new(None, &*text));
    let read = read_generated_type(&source);
    assert_eq!(read, read_generated_type(&source));
    match read {
        Ok(read) => check_type(&read, &text),
        Err(error) => check_line(error.line, &text),
    }
}

/// A type file in Ruby, which is also the file that it requires and its provider.
pub(crate) fn ruby_type(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let library = SameText(&text);
    let reading = read_ruby_type("thing", &text, &library);
    assert_eq!(reading, read_ruby_type("thing", &text, &library));
    match reading {
        StaticReading::Complete(read) => check_type(&read, &text),
        StaticReading::NeedsRuby { reason, line } => {
            assert!(!reason.is_empty());
            check_line(line, &text);
        }
    }
}

struct SameText<'t>(&'t str);

impl RubyLibrary for SameText<'_> {
    fn read(&self, feature: &str) -> Option<String> {
        feature.len().is_multiple_of(2).then(|| self.0.to_owned())
    }

    fn provider_features(&self, _: &str) -> Vec<String> {
        match self.0.len() % 3 {
            0 => vec!["a".to_owned(), "bc".to_owned()],
            _ => Vec::new(),
        }
    }
}

fn check_line(line: u32, text: &str) {
    let lines = text.matches('\n').count() + 1;
    assert!(line >= 1 && usize::try_from(line).is_ok_and(|line| line <= lines));
}

fn check_type(read: &ResourceType, text: &str) {
    for name in read.name_variables() {
        assert!(read.attribute_kind(name).is_some() && read.has_attribute(name));
    }
    let title: String = text.chars().take(TITLE_CHARS).collect();
    let Ok(parts) = read.parse_title(&title) else {
        return;
    };
    for (_, part) in &parts {
        assert!(part.is_none_or(|part| title.contains(part)));
    }
    let key = read.uniqueness_key(&title, |_| None::<&String>);
    assert_eq!(key.map(|key| key.len()), Ok(read.name_variables().len()));
}
