//! The patterns of `~`, which are Java's regular expressions. Main function: [`compile`].
//!
//! They run on the `regex` crate, whose time is linear in the text for every pattern. Invariants:
//! a pattern has the same meaning as in Java, or it is refused with the name of the unsupported
//! feature (look-around, back-references, possessive quantifiers); `\d`, `\w` and `\s` are ASCII,
//! as in Java; a pattern may match anywhere in the text.

use regex::{Regex, RegexBuilder};

use crate::defaults::{PATTERN_BYTES, PATTERN_DEPTH};

/// The text is not a usable pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// A feature of Java's regular expressions that this matcher does not have.
    #[error("the pattern uses {0}, which is not supported; write it without")]
    Unsupported(&'static str),
    /// The text is not a regular expression, or too large a one.
    #[error("the pattern cannot be used: {0}")]
    Invalid(String),
}

/// Compiles a pattern.
pub(super) fn compile(java: &str) -> Result<Regex, PatternError> {
    let translated = PatternTranslation::new(java).translate()?;
    RegexBuilder::new(&translated)
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES)
        .nest_limit(PATTERN_DEPTH)
        .build()
        .map_err(|error| PatternError::Invalid(describe_regex_error(&error)))
}

/// The reason, which is the last line of the crate's error message.
fn describe_regex_error(error: &regex::Error) -> String {
    if let regex::Error::CompiledTooBig(limit) = error {
        return format!("it would take more than {limit} bytes of memory");
    }
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

struct PatternTranslation<'a> {
    java: std::iter::Peekable<std::str::Chars<'a>>,
    rust: String,
    /// Number of open `[`.
    classes: usize,
    /// `true` if the last thing written is a quantifier.
    quantified: bool,
    /// `true` if the last thing written opens a group.
    opened: bool,
}

impl<'a> PatternTranslation<'a> {
    fn new(java: &'a str) -> Self {
        Self {
            java: java.chars().peekable(),
            rust: String::with_capacity(java.len() + 16),
            classes: 0,
            quantified: false,
            opened: false,
        }
    }

    fn translate(mut self) -> Result<String, PatternError> {
        while let Some(character) = self.java.next() {
            let was_quantified = std::mem::take(&mut self.quantified);
            let was_opened = std::mem::take(&mut self.opened);
            match character {
                '\\' => self.copy_escape()?,
                '[' => {
                    self.classes += 1;
                    self.rust.push('[');
                }
                ']' if self.classes > 0 => {
                    self.classes -= 1;
                    self.rust.push(']');
                }
                '-' | '~' if self.classes > 0 && self.java.peek() == Some(&character) => {
                    return Err(PatternError::Unsupported(
                        "`--` or `~~` in a character class",
                    ));
                }
                '+' if was_quantified => {
                    return Err(PatternError::Unsupported(
                        "a possessive quantifier such as `a++`",
                    ));
                }
                '*' | '+' | '?' if self.classes == 0 => {
                    // After a quantifier, `?` only makes it reluctant.
                    self.quantified = !was_quantified && !was_opened;
                    self.rust.push(character);
                }
                '(' if self.classes == 0 => {
                    self.opened = true;
                    self.rust.push('(');
                }
                '{' if self.classes == 0 => self.copy_repetition(),
                other => self.rust.push(other),
            }
        }
        Ok(self.rust)
    }

    /// Copies `{2}`, `{2,}` or `{2,3}`; any other form is left to the compiler.
    fn copy_repetition(&mut self) {
        self.rust.push('{');
        while let Some(next) = self
            .java
            .next_if(|next| next.is_ascii_digit() || matches!(next, ',' | '}'))
        {
            self.rust.push(next);
            if next == '}' {
                self.quantified = true;
                return;
            }
        }
    }

    fn copy_escape(&mut self) -> Result<(), PatternError> {
        let Some(escaped) = self.java.next() else {
            return Err(PatternError::Invalid("it ends with a backslash".to_owned()));
        };
        match escaped {
            'd' => self.rust.push_str("[0-9]"),
            'D' => self.rust.push_str("[^0-9]"),
            'w' => self.rust.push_str("[a-zA-Z0-9_]"),
            'W' => self.rust.push_str("[^a-zA-Z0-9_]"),
            's' => self.rust.push_str(r"[ \t\n\x0B\f\r]"),
            'S' => self.rust.push_str(r"[^ \t\n\x0B\f\r]"),
            'Z' => self.rust.push_str(r"\z"),
            'e' => self.rust.push_str(r"\x1B"),
            'Q' => self.copy_quotation(),
            '1'..='9' | 'k' => return Err(PatternError::Unsupported("a back-reference")),
            'G' => return Err(PatternError::Unsupported("`\\G`")),
            'R' | 'X' | 'h' | 'H' | 'v' | 'V' | '0' | 'c' | 'N' => {
                return Err(PatternError::Unsupported(
                    "one of `\\R`, `\\X`, `\\h`, `\\v`, `\\N`, `\\0` and `\\c`",
                ));
            }
            letter if letter.is_ascii_alphabetic() => {
                self.rust.push('\\');
                self.rust.push(letter);
            }
            // Any other escaped character is literal: `\<` would otherwise be the start of a word.
            other => self.push_literal(other),
        }
        Ok(())
    }

    /// Copies the text between `\Q` and `\E`, or up to the end.
    fn copy_quotation(&mut self) {
        while let Some(character) = self.java.next() {
            if character == '\\' && self.java.next_if_eq(&'E').is_some() {
                return;
            }
            self.push_literal(character);
        }
    }

    fn push_literal(&mut self, character: char) {
        let mut buffer = [0; 4];
        self.rust
            .push_str(&regex::escape(character.encode_utf8(&mut buffer)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, text: &str) -> bool {
        compile(pattern).expect("a pattern").is_match(text)
    }

    #[test]
    fn patterns_mean_what_they_mean_in_java() {
        assert!(found("www", "a-www-1"), "anywhere");
        assert!(found(r"^web\d+\.example\.com$", "web12.example.com"));
        assert!(!found(r"^\d$", "\u{0663}"), "digits are ASCII");
        assert!(!found(r"^\w$", "\u{e9}"), "letters of words are ASCII");
        assert!(found(r"^[\w-.]+$", "a-b.c"));
        assert!(found(r"^[^\d]$", "x") && !found(r"^[^\d]$", "5"));
        assert!(found(r"\Qa.b*\E+", "a.b**") && !found(r"\Qa.b\E", "axb"));
        assert!(found(r"\<x\>", "<x>"), "an escaped sign is the sign");
        assert!(found("(?i)RedHat", "redhat"));
        assert!(found("a{2}b", "aab") && found("x+?", "x"));
        assert!(found(r"a\++", "a++") && found("[+*]+", "+"));
        assert!(found(r"end\Z", "the end"));
        assert!(found("(?:a|b)c", "bc") && found("(?<n>a)", "a"));
    }

    #[test]
    fn what_java_alone_can_is_refused_by_name() {
        for (pattern, what) in [
            ("a++", "possessive"),
            ("a*+", "possessive"),
            ("a{2}+", "possessive"),
            (r"\(?+", "possessive"),
            (r"(a)\1", "back-reference"),
            (r"\k<n>", "back-reference"),
            ("(?=a)", "look-around"),
            ("(?<!a)b", "look-around"),
            ("(", "unclosed"),
            ("a\\", "backslash"),
            ("[a--b]", "character class"),
            (r"\R", r"\R"),
            (r"[a-z]{1000}{1000}", "memory"),
        ] {
            let error = compile(pattern).expect_err(pattern).to_string();
            assert!(error.contains(what), "{pattern}: {error}");
        }
    }
}
