//! Patterns as Ruby prints them: [`Regex::inspect`] and [`Regex::to_printed`].

use std::fmt::Write as _;

use crate::{Regex, RegexFlags};

impl Regex {
    /// The pattern in the form `/source/mix`.
    #[must_use]
    pub fn inspect(&self) -> String {
        let mut text = String::from("/");
        push_source(&mut text, self.source());
        text.push('/');
        push_flags(&mut text, self.flags(), true);
        text
    }

    /// Ruby's `to_s`, `(?-mix:source)`, which has the same meaning as a pattern or as a part of
    /// one.
    #[must_use]
    pub fn to_printed(&self) -> String {
        let (flags, source) = unwrap_group(self.flags(), self.source());
        let mut text = String::from("(?");
        push_flags(&mut text, flags, true);
        let all = RegexFlags {
            extended: true,
            ignore_case: true,
            multiline: true,
        };
        if flags != all {
            text.push('-');
            push_flags(&mut text, flags, false);
        }
        text.push(':');
        push_source(&mut text, source);
        text.push(')');
        text
    }
}

fn push_flags(text: &mut String, flags: RegexFlags, which: bool) {
    let all = [
        ('m', flags.multiline),
        ('i', flags.ignore_case),
        ('x', flags.extended),
    ];
    text.extend(all.iter().filter(|(_, set)| *set == which).map(|(c, _)| c));
}

/// Ruby moves options at the very beginning of a pattern into the printed prefix.
fn unwrap_group(flags: RegexFlags, source: &str) -> (RegexFlags, &str) {
    let (mut inner, mut rest) = (flags, source);
    while rest.len() >= 4 {
        let Some(after) = rest.strip_prefix("(?") else {
            break;
        };
        let after = take_flags(&mut inner, after, true);
        let after = match after.strip_prefix('-') {
            Some(negative) if after.len() > 1 => take_flags(&mut inner, negative, false),
            _ => after,
        };
        if let Some(after) = after.strip_prefix(')') {
            rest = after;
            continue;
        }
        let body = after.strip_prefix(':').and_then(|it| it.strip_suffix(')'));
        return match body {
            // In `(?:a)|(b)` the last parenthesis closes another group than the first one opens.
            Some(body) if Regex::with_flags(body, inner).is_ok() => (inner, body),
            _ => (flags, source),
        };
    }
    (inner, rest)
}

fn take_flags<'s>(flags: &mut RegexFlags, mut text: &'s str, set: bool) -> &'s str {
    loop {
        let mut chars = text.chars();
        match chars.next() {
            Some('m') => flags.multiline = set,
            Some('i') => flags.ignore_case = set,
            Some('x') => flags.extended = set,
            _ => return text,
        }
        text = chars.as_str();
    }
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
