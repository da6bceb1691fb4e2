//! Patterns as Ruby prints them: [`Regex::inspect`].

use std::fmt::Write as _;

use crate::{Regex, RegexFlags};

impl Regex {
    /// The pattern in the form `/source/mix`.
    #[must_use]
    pub fn inspect(&self) -> String {
        let mut text = String::from("/");
        push_source(&mut text, self.source());
        text.push('/');
        push_flags(&mut text, self.flags());
        text
    }
}

fn push_flags(text: &mut String, flags: RegexFlags) {
    let all = [
        ('m', flags.multiline),
        ('i', flags.ignore_case),
        ('x', flags.extended),
    ];
    text.extend(all.iter().filter(|(_, set)| *set).map(|(c, _)| c));
}

/// Appends the source with slashes escaped, and unprintable characters as numbers.
fn push_source(text: &mut String, source: &str) {
    let mut chars = source.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                text.push('\\');
                text.extend(chars.next());
            }
            '/' => text.push_str("\\/"),
            c if c.is_ascii_control() && !c.is_ascii_whitespace() && c != '\x0b' => {
                let _ = write!(text, "\\x{:02X}", u32::from(c));
            }
            c => text.push(c),
        }
    }
}
