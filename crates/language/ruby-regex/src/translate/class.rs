//! Brackets: `[a-z\w[:alpha:]&&[^b]]`.

use super::escape::BracketEscape;
use super::{CharacterClassMode, PatternTranslator, RefusedPattern, TOO_DEEP};
use crate::defaults::MAX_DEPTH;

/// The distance within which the engine looks for the end of `[:name:]`.
const POSIX_NAME_BYTES: usize = 20;

/// The element before a position in brackets.
#[derive(Clone, Copy, PartialEq)]
enum BracketPosition {
    /// The beginning, a set or a whole range.
    Other,
    /// A character, with which a range may begin.
    Character,
    /// A character and a dash.
    Dash,
}

impl PatternTranslator<'_> {
    /// Translates up to the end of the brackets, of which the first was read.
    pub(super) fn class(&mut self) -> Result<(), RefusedPattern> {
        self.open_class();
        let mut depth = 1;
        let mut before = BracketPosition::Other;
        while let Some(c) = self.next() {
            before = match c {
                ']' => {
                    self.out.push(']');
                    depth -= 1;
                    if depth == 0 {
                        return Ok(());
                    }
                    BracketPosition::Other
                }
                '[' if self.posix_class() => self.set(before)?,
                '[' => {
                    depth += 1;
                    if depth > MAX_DEPTH {
                        return Err(TOO_DEEP);
                    }
                    self.open_class();
                    BracketPosition::Other
                }
                '\\' => self.escape_in_class(before)?,
                '&' if self.eat('&') => {
                    self.out.push_str("&&");
                    BracketPosition::Other
                }
                '-' => {
                    self.out.push('-');
                    match before {
                        BracketPosition::Character => BracketPosition::Dash,
                        BracketPosition::Dash => BracketPosition::Other,
                        BracketPosition::Other => BracketPosition::Character,
                    }
                }
                other => {
                    self.out.push(other);
                    character(before)
                }
            };
        }
        Ok(())
    }

    /// After `[`: a `]` in the first position is literal, if another one closes the brackets.
    fn open_class(&mut self) {
        self.out.push('[');
        if self.eat('^') {
            self.out.push('^');
        }
        if let Some(rest) = self.rest.strip_prefix(']')
            && holds_unescaped_close(rest)
        {
            self.rest = rest;
            self.out.push_str("\\]");
        }
    }

    fn escape_in_class(
        &mut self,
        before: BracketPosition,
    ) -> Result<BracketPosition, RefusedPattern> {
        match self.class_escape()? {
            BracketEscape::Character => Ok(character(before)),
            BracketEscape::Set => self.set(before),
        }
    }

    /// Handles a set, which cannot be the start or end of a range.
    fn set(&self, before: BracketPosition) -> Result<BracketPosition, RefusedPattern> {
        if before == BracketPosition::Dash {
            return Err("char-class value at end of range");
        }
        match self.rest.strip_prefix('-') {
            Some(rest) if !rest.is_empty() && !rest.starts_with(']') && !rest.starts_with("&&") => {
                Err("unmatched range specifier in char-class")
            }
            _ => Ok(BracketPosition::Other),
        }
    }

    /// Translates `[:name:]`, of which the first bracket was read; false if it is another
    /// construct.
    fn posix_class(&mut self) -> bool {
        let Some(inner) = self.rest.strip_prefix(':') else {
            return false;
        };
        let Some(end) = inner.find(":]").filter(|end| *end <= POSIX_NAME_BYTES) else {
            return false;
        };
        let (name, rest) = (&inner[..end], &inner[end + 2..]);
        let (not, plain) = match name.strip_prefix('^') {
            Some(plain) => ("^", plain),
            None => ("", name),
        };
        if !plain.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return false;
        }
        self.rest = rest;
        let written_out = match plain {
            _ if self.mode.charset == CharacterClassMode::Ascii => ascii_posix(plain),
            // The engine counts all symbols as punctuation, Ruby those of ASCII.
            "punct" => Some("\\p{P}$+<=>\\^`|~"),
            _ => None,
        };
        match written_out {
            Some(set) => {
                for part in ["[", not, set, "]"] {
                    self.out.push_str(part);
                }
            }
            None => {
                for part in ["[:", not, plain, ":]"] {
                    self.out.push_str(part);
                }
            }
        }
        true
    }
}

fn character(before: BracketPosition) -> BracketPosition {
    match before {
        BracketPosition::Dash => BracketPosition::Other,
        BracketPosition::Other | BracketPosition::Character => BracketPosition::Character,
    }
}

fn holds_unescaped_close(text: &str) -> bool {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            ']' => return true,
            _ => {}
        }
    }
    false
}

fn ascii_posix(name: &str) -> Option<&'static str> {
    Some(match name {
        "alnum" => "0-9A-Za-z",
        "alpha" => "A-Za-z",
        "blank" => "\\t\\x20",
        "cntrl" => "\\x00-\\x1f\\x7f",
        "digit" => "0-9",
        "graph" => "\\x21-\\x7e",
        "lower" => "a-z",
        "print" => "\\x20-\\x7e",
        "punct" => "\\x21-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7e",
        "space" => "\\t\\n\\v\\f\\r\\x20",
        "upper" => "A-Z",
        "xdigit" => "0-9A-Fa-f",
        "word" => "0-9A-Za-z_",
        "ascii" => "\\x00-\\x7f",
        _ => return None,
    })
}
