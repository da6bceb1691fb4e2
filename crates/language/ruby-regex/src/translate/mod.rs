//! Translates Ruby's notation to the notation of the engine, Oniguruma, from which Ruby's is
//! derived: [`translate`].
//!
//! Differences are expanded: `\w \d \s` to the ASCII sets that they are in Ruby, the options `a d
//! u`, `\u{…}` and bytes to characters, escapes of the engine only to the letters that they are in
//! Ruby. All other text is copied, including mistakes: the engine's messages are the same as
//! Ruby's.
//!
//! Invariant: copied text has the same meaning in both notations.

mod bytes;
mod class;
mod escape;

use crate::RegexFlags;
use crate::defaults::{MAX_DEPTH, MAX_PATTERN_BYTES};

/// The reason for which a pattern is refused, in Ruby's words if Ruby has a message.
type RefusedPattern = &'static str;

const TOO_DEEP: RefusedPattern = "groups or brackets are nested deeper than 40";

pub(crate) fn translate(source: &str, flags: RegexFlags) -> Result<String, RefusedPattern> {
    if source.len() > MAX_PATTERN_BYTES {
        return Err("the pattern is longer than 65536 bytes");
    }
    let mut translator = PatternTranslator {
        rest: source,
        out: String::with_capacity(source.len() + source.len() / 4),
        mode: TranslateMode {
            extended: flags.extended,
            ignore_case: flags.ignore_case,
            charset: CharacterClassMode::Default,
        },
        outer: Vec::new(),
        isolated: 0,
    };
    translator.pattern()?;
    Ok(translator.out)
}

struct PatternTranslator<'s> {
    rest: &'s str,
    out: String,
    mode: TranslateMode,
    /// The modes to which the open groups return.
    outer: Vec<TranslateMode>,
    /// Number of options that apply from their position to the end of their group.
    isolated: usize,
}

/// The options that affect the translation.
#[derive(Clone, Copy)]
struct TranslateMode {
    extended: bool,
    ignore_case: bool,
    charset: CharacterClassMode,
}

#[derive(Clone, Copy, PartialEq)]
enum CharacterClassMode {
    /// `(?d)`: `\w \d \s` are ASCII, `\b` and `[[:alpha:]]` are not.
    Default,
    /// `(?a)`: all are ASCII.
    Ascii,
    /// `(?u)`: none is ASCII.
    Unicode,
}

impl PatternTranslator<'_> {
    fn pattern(&mut self) -> Result<(), RefusedPattern> {
        while let Some(c) = self.next() {
            match c {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' => self.open()?,
                ')' => {
                    if let Some(outer) = self.outer.pop() {
                        self.mode = outer;
                    }
                    self.out.push(')');
                }
                '#' if self.mode.extended => {
                    self.out.push('#');
                    self.copy_through('\n');
                }
                '^' | '$' => self.anchor(if c == '^' { "^" } else { "$" }),
                '{' if self.falling_range() => {
                    return Err("upper is smaller than lower in repeat range");
                }
                other => self.out.push(other),
            }
        }
        Ok(())
    }

    /// Ruby allows repeated anchors; the engine allows only repeated atomic groups of them.
    fn anchor(&mut self, anchor: &str) {
        if self.rest.starts_with(['*', '+', '?', '{']) {
            self.out.push_str("(?>");
            self.out.push_str(anchor);
            self.out.push(')');
        } else {
            self.out.push_str(anchor);
        }
    }

    /// True if `{3,2}` follows, which the engine would read as `{2,3}`.
    fn falling_range(&self) -> bool {
        let range = self.rest.split_once('}').map(|(range, _)| range);
        let Some((low, high)) = range.and_then(|it| it.split_once(',')) else {
            return false;
        };
        let number = |text: &str| -> Option<u64> {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|_| digits)
        };
        matches!((number(low), number(high)), (Some(low), Some(high)) if low > high)
    }

    /// Translates the characters after an opening parenthesis that belong to it.
    fn open(&mut self) -> Result<(), RefusedPattern> {
        self.out.push('(');
        if !self.eat('?') {
            return self.enter();
        }
        let letters = self
            .rest
            .find(|c: char| !matches!(c, 'i' | 'm' | 'x' | 'a' | 'd' | 'u' | '-'))
            .unwrap_or(self.rest.len());
        if letters > 0 && self.rest.len() == letters {
            return Err("end pattern in group");
        }
        if letters > 0 && self.rest[letters..].starts_with([')', ':']) {
            return self.options(letters);
        }
        // Every text contains the empty text, so this absence group never matches; in the engine
        // the bar has another meaning.
        if let Some(rest) = self.rest.strip_prefix("~|") {
            self.rest = rest;
            self.out.push_str("?!|");
            return self.enter();
        }
        self.out.push('?');
        match self.next() {
            Some('#') => {
                self.out.push('#');
                self.copy_comment();
                return Ok(());
            }
            Some('<') => {
                self.out.push('<');
                if !self.rest.starts_with(['=', '!']) {
                    self.copy_through('>');
                }
            }
            Some('\'') => {
                self.out.push('\'');
                self.copy_through('\'');
            }
            Some('(') => {
                self.out.push('(');
                self.copy_through(')');
            }
            Some(other) => self.out.push(other),
            None => return Ok(()),
        }
        self.enter()
    }

    /// `(?imx-imx)` and `(?imx-imx:`; the options `a d u` affect only this translation.
    fn options(&mut self, letters: usize) -> Result<(), RefusedPattern> {
        let (options, rest) = self.rest.split_at(letters);
        let mut mode = self.mode;
        let mut negative = false;
        let mut kept = String::new();
        for option in options.chars() {
            match option {
                '-' => negative = true,
                'x' => mode.extended = !negative,
                'i' => mode.ignore_case = !negative,
                'a' | 'd' | 'u' if negative => return Err("undefined group option"),
                'a' => mode.charset = CharacterClassMode::Ascii,
                'd' => mode.charset = CharacterClassMode::Default,
                'u' => mode.charset = CharacterClassMode::Unicode,
                _ => {}
            }
            if !matches!(option, 'a' | 'd' | 'u') {
                kept.push(option);
            }
        }
        let whole_group = rest.starts_with(':');
        self.rest = &rest[1..];
        if whole_group {
            self.enter()?;
        } else {
            self.isolated += 1;
            self.check_depth()?;
        }
        self.mode = mode;
        if kept.is_empty() {
            kept.push('-');
        }
        self.out.push('?');
        self.out.push_str(&kept);
        self.out.push(if whole_group { ':' } else { ')' });
        Ok(())
    }

    fn enter(&mut self) -> Result<(), RefusedPattern> {
        self.outer.push(self.mode);
        self.check_depth()
    }

    fn check_depth(&self) -> Result<(), RefusedPattern> {
        if self.outer.len() + self.isolated > MAX_DEPTH {
            return Err(TOO_DEEP);
        }
        Ok(())
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        self.rest = chars.as_str();
        Some(c)
    }

    fn eat(&mut self, c: char) -> bool {
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Copies up to and including `end`, or the whole rest.
    fn copy_through(&mut self, end: char) {
        let length = match self.rest.find(end) {
            Some(at) => at + end.len_utf8(),
            None => self.rest.len(),
        };
        let (text, rest) = self.rest.split_at(length);
        self.out.push_str(text);
        self.rest = rest;
    }

    /// Copies up to and including the next unescaped parenthesis.
    fn copy_comment(&mut self) {
        while let Some(c) = self.next() {
            self.out.push(c);
            match c {
                ')' => return,
                '\\' => {
                    let escaped = self.next();
                    self.out.extend(escaped);
                }
                _ => {}
            }
        }
    }
}
