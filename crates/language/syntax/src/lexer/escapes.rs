//! Escapes with backslashes in texts: [`unescape`].
//!
//! The letters that may be escaped depend on the kind of text ([`EscapeSet`]); a backslash before
//! any other character stays, with a warning in double quotes.

use std::borrow::Cow;

/// The set of characters that may follow a backslash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EscapeSet(u16);

/// Irregularities found while unescaping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EscapeIrregularity {
    /// `\u` without digits.
    NoDigits,
    /// A letter that has no meaning as an escape here.
    Unknown(char),
    /// A number that is not a character: an error, not a warning.
    NoCharacter,
}

const PLAIN: [(char, u16); 9] = [
    ('\\', 1),
    ('$', 1 << 1),
    ('\'', 1 << 2),
    ('"', 1 << 3),
    ('r', 1 << 4),
    ('n', 1 << 5),
    ('t', 1 << 6),
    ('s', 1 << 7),
    ('u', 1 << 8),
];
const NEWLINE: u16 = 1 << 9;

// === impl EscapeSet ===

impl EscapeSet {
    pub(super) const NONE: Self = Self(0);
    pub(super) const DOUBLE_QUOTED: Self = Self(0x3FF);

    /// Adds one escape by its name in a heredoc's tag, where `L` is the end of the line. Returns
    /// false if the name is unknown or already present.
    pub(super) fn add_heredoc(&mut self, name: char) -> bool {
        let bit = match name {
            'L' => NEWLINE,
            't' | 'r' | 'n' | 's' | 'u' | '$' => Self::bit(name),
            _ => return false,
        };
        let new = self.0 & bit == 0;
        // if any character can be escaped, so can the backslash
        self.0 |= bit | 1;
        new
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn has(self, name: char) -> bool {
        self.0 & Self::bit(name) != 0
    }

    fn bit(name: char) -> u16 {
        PLAIN
            .iter()
            .find(|(known, _)| *known == name)
            .map_or(0, |(_, bit)| *bit)
    }
}

/// Removes the escapes from a text. `odd` receives each irregularity with its offset.
pub(super) fn unescape<'t>(
    raw: &'t str,
    escapes: EscapeSet,
    mut odd: impl FnMut(usize, EscapeIrregularity),
) -> Cow<'t, str> {
    if escapes.is_empty() || memchr::memchr(b'\\', raw.as_bytes()).is_none() {
        return Cow::Borrowed(raw);
    }
    let mut text = String::with_capacity(raw.len());
    let mut at = 0;
    while let Some(next) = memchr::memchr(b'\\', &raw.as_bytes()[at..]) {
        text.push_str(&raw[at..at + next]);
        at += next;
        at += unescape_one(&raw[at..], escapes, &mut text, |what| odd(at, what));
    }
    text.push_str(&raw[at..]);
    Cow::Owned(text)
}

/// Reads one escape from the front of `rest`, which begins with a backslash; returns its length.
fn unescape_one(
    rest: &str,
    escapes: EscapeSet,
    text: &mut String,
    mut odd: impl FnMut(EscapeIrregularity),
) -> usize {
    let Some(letter) = rest[1..].chars().next() else {
        text.push('\\');
        return 1;
    };
    if let Some(len) = line_end(&rest[1..]) {
        if escapes.0 & NEWLINE == 0 {
            text.push_str(&rest[..=len]);
        }
        return len + 1;
    }
    match letter {
        '\r' => {
            text.push('\\');
            1
        }
        'u' if escapes.has('u') => unicode(rest, text, odd),
        _ if escapes.has(letter) => {
            text.push(match letter {
                'r' => '\r',
                'n' => '\n',
                't' => '\t',
                's' => ' ',
                other => other,
            });
            2
        }
        _ => {
            odd(EscapeIrregularity::Unknown(letter));
            text.push('\\');
            text.push(letter);
            1 + letter.len_utf8()
        }
    }
}

fn line_end(text: &str) -> Option<usize> {
    if text.starts_with('\n') {
        Some(1)
    } else {
        text.starts_with("\r\n").then_some(2)
    }
}

/// `\uXXXX` or `\u{X…}`, at most six digits.
fn unicode(rest: &str, text: &mut String, mut odd: impl FnMut(EscapeIrregularity)) -> usize {
    let Some((digits, len)) = unicode_digits(&rest[2..]) else {
        odd(EscapeIrregularity::NoDigits);
        text.push_str("\\u");
        return 2;
    };
    let character = u32::from_str_radix(digits, 16)
        .ok()
        .and_then(char::from_u32);
    match character {
        Some(character) => text.push(character),
        None => odd(EscapeIrregularity::NoCharacter),
    }
    2 + len
}

/// The digits, and their length including braces.
fn unicode_digits(rest: &str) -> Option<(&str, usize)> {
    let hexadecimal = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some(inner) = rest.strip_prefix('{') {
        let close = inner.bytes().take(7).position(|byte| byte == b'}')?;
        let digits = &inner[..close];
        return (close > 0 && hexadecimal(digits)).then_some((digits, close + 2));
    }
    let digits = rest.get(..4)?;
    hexadecimal(digits).then_some((digits, 4))
}
