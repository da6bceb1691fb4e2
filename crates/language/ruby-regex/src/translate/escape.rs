//! The characters after a backslash, outside and inside of brackets.

use super::bytes::{octal, push_code_point};
use super::{CharacterClassMode, PatternTranslator, RefusedPattern};

/// `\b` and `\B` if only ASCII counts.
const ASCII_BOUNDARY: &str =
    "(?:(?<=[0-9A-Za-z_])(?![0-9A-Za-z_])|(?<![0-9A-Za-z_])(?=[0-9A-Za-z_]))";
const ASCII_INSIDE: &str =
    "(?:(?<=[0-9A-Za-z_])(?=[0-9A-Za-z_])|(?<![0-9A-Za-z_])(?![0-9A-Za-z_]))";

/// The ASCII sets of `\w`, `\d` and `\s`, without the brackets.
fn ascii_set(letter: char) -> &'static str {
    match letter {
        'w' | 'W' => "0-9A-Za-z_",
        'd' | 'D' => "0-9",
        _ => "\\t\\n\\v\\f\\r\\x20",
    }
}

/// The kind of an escape inside of brackets.
#[derive(PartialEq)]
pub(super) enum BracketEscape {
    /// One character, which can be the start or end of a range.
    Character,
    /// A set of characters.
    Set,
}

impl PatternTranslator<'_> {
    /// Translates an escape outside of brackets.
    pub(super) fn escape(&mut self) -> Result<(), RefusedPattern> {
        let Some(letter) = self.next() else {
            return Err("too short escape sequence");
        };
        match letter {
            'w' | 'W' | 'd' | 'D' | 's' | 'S'
                if self.mode.charset != CharacterClassMode::Unicode =>
            {
                let set = bracket_class(letter);
                // The sets do not depend on case; otherwise `ſ` would match because of `s`.
                if self.mode.ignore_case {
                    self.out.push_str("(?-i:");
                    self.out.push_str(&set);
                    self.out.push(')');
                } else {
                    self.out.push_str(&set);
                }
            }
            'b' if self.mode.charset == CharacterClassMode::Ascii => self.anchor(ASCII_BOUNDARY),
            'B' if self.mode.charset == CharacterClassMode::Ascii => self.anchor(ASCII_INSIDE),
            'b' => self.anchor("\\b"),
            'B' => self.anchor("\\B"),
            'A' => self.anchor("\\A"),
            'G' => self.anchor("\\G"),
            'Z' => self.anchor("\\Z"),
            'z' => self.anchor("\\z"),
            'k' | 'g' => {
                self.out.push('\\');
                self.out.push(letter);
                for (open, close) in [('<', '>'), ('\'', '\'')] {
                    if self.eat(open) {
                        self.out.push(open);
                        self.copy_through(close);
                        break;
                    }
                }
            }
            _ => {
                self.common_escape(letter)?;
            }
        }
        Ok(())
    }

    /// Translates an escape inside of brackets; the backslash has been read.
    pub(super) fn class_escape(&mut self) -> Result<BracketEscape, RefusedPattern> {
        let Some(letter) = self.next() else {
            return Err("too short escape sequence");
        };
        match letter {
            'w' | 'W' | 'd' | 'D' | 's' | 'S'
                if self.mode.charset != CharacterClassMode::Unicode =>
            {
                self.out.push_str(&bracket_class(letter));
                Ok(BracketEscape::Set)
            }
            'w' | 'W' | 'd' | 'D' | 's' | 'S' | 'h' | 'H' => {
                self.out.push('\\');
                self.out.push(letter);
                Ok(BracketEscape::Set)
            }
            _ => self.common_escape(letter),
        }
    }

    /// Translates escapes with the same meaning inside and outside of brackets.
    fn common_escape(&mut self, letter: char) -> Result<BracketEscape, RefusedPattern> {
        match letter {
            'u' => self.unicode_escape()?,
            'x' => self.hex_escape()?,
            '1'..='7' if octal(self.rest, letter) > 0o177 => self.octal_escape(letter)?,
            'c' => self.control_escape()?,
            'C' if self.eat('-') => self.control_escape()?,
            'C' => return Err("too short control escape"),
            'M' if self.rest.len() < 2 => return Err("too short meta escape"),
            'M' => return Err("too short escaped multibyte character"),
            'p' | 'P' if self.rest.starts_with('{') => {
                self.property(letter);
                return Ok(BracketEscape::Set);
            }
            // Escapes of the engine only; Ruby treats them as letters.
            'y' | 'Y' | 'o' | 'N' | 'O' => self.out.push(letter),
            other => {
                self.out.push('\\');
                self.out.push(other);
            }
        }
        Ok(BracketEscape::Character)
    }

    /// Translates `\p{…}`, of which the backslash and the letter were read.
    fn property(&mut self, letter: char) {
        self.out.push('\\');
        self.out.push(letter);
        let (not, name) = match self.rest[1..].strip_prefix('^') {
            Some(name) => ("^", name),
            None => ("", &self.rest[1..]),
        };
        // The engine counts symbols as punctuation.
        let punct = name.get(..6).filter(|it| it.eq_ignore_ascii_case("punct}"));
        match punct {
            Some(_) => {
                self.rest = &name[6..];
                for part in ["{", not, "P}"] {
                    self.out.push_str(part);
                }
            }
            None => self.copy_through('}'),
        }
    }

    /// `\cx` and `\C-x`.
    fn control_escape(&mut self) -> Result<(), RefusedPattern> {
        match self.next() {
            Some('?') => push_code_point(&mut self.out, 0x7f),
            Some(c) if c.is_ascii() && c != '\\' => {
                push_code_point(&mut self.out, u32::from(c) & 0x1f);
            }
            _ => return Err("too short control escape"),
        }
        Ok(())
    }
}

/// `\w` as `[0-9A-Za-z_]`, `\W` as `[^0-9A-Za-z_]`.
fn bracket_class(letter: char) -> String {
    let not = if letter.is_ascii_uppercase() { "^" } else { "" };
    format!("[{not}{}]", ascii_set(letter))
}
