//! Characters that are written as numbers: `\u0041`, `\u{41 42}`, `\xc3\xa9`, `\303\251`.
//!
//! Invariant: the engine gets code points; bytes must form whole UTF-8 characters.

use std::fmt::Write as _;

use super::{PatternTranslator, RefusedPattern};

const INVALID_BYTES: RefusedPattern = "invalid multibyte escape";

impl PatternTranslator<'_> {
    /// Translates the rest of an escape after `\u`.
    pub(super) fn unicode_escape(&mut self) -> Result<(), RefusedPattern> {
        if !self.eat('{') {
            if self.rest.is_empty() {
                return Err("too short escape sequence");
            }
            let digits = self.rest.get(..4).and_then(hex);
            let code = digits.ok_or("invalid Unicode escape")?;
            self.rest = &self.rest[4..];
            return self.character(code);
        }
        let Some((list, rest)) = self.rest.split_once('}') else {
            return Err("invalid Unicode list");
        };
        let mut any = false;
        for digits in list.split([' ', '\t']).filter(|it| !it.is_empty()) {
            if digits.len() > 6 {
                return Err("invalid Unicode range");
            }
            let code = hex(digits).ok_or("invalid Unicode list")?;
            self.character(code)?;
            any = true;
        }
        if !any {
            return Err("invalid Unicode list");
        }
        self.rest = rest;
        Ok(())
    }

    fn character(&mut self, code: u32) -> Result<(), RefusedPattern> {
        let c = char::from_u32(code).ok_or("invalid Unicode range")?;
        push_code_point(&mut self.out, u32::from(c));
        Ok(())
    }

    /// Translates the rest of an escape after `\x`.
    pub(super) fn hex_escape(&mut self) -> Result<(), RefusedPattern> {
        let first = self.hex_byte()?;
        self.utf8(first)
    }

    /// Translates an escape after a backslash and the first octal digit of a byte above 127.
    pub(super) fn octal_escape(&mut self, first: char) -> Result<(), RefusedPattern> {
        let first = self.octal_byte(first)?;
        self.utf8(first)
    }

    /// The character that consists of a byte or begins with it.
    fn utf8(&mut self, first: u8) -> Result<(), RefusedPattern> {
        let length = match first {
            0..=0x7f => 1,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => return Err(INVALID_BYTES),
        };
        let mut bytes = vec![first];
        while bytes.len() < length {
            let Some(rest) = self.rest.strip_prefix('\\') else {
                return Err("too short escaped multibyte character");
            };
            self.rest = rest;
            let byte = match self.next() {
                Some('x') => self.hex_byte()?,
                Some(digit @ '2'..='3') => self.octal_byte(digit)?,
                _ => return Err(INVALID_BYTES),
            };
            bytes.push(byte);
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| INVALID_BYTES)?;
        let c = text.chars().next().ok_or(INVALID_BYTES)?;
        push_code_point(&mut self.out, u32::from(c));
        Ok(())
    }

    /// One or two hexadecimal digits.
    fn hex_byte(&mut self) -> Result<u8, RefusedPattern> {
        let length = self
            .rest
            .bytes()
            .take(2)
            .take_while(u8::is_ascii_hexdigit)
            .count();
        let (digits, rest) = self.rest.split_at(length);
        self.rest = rest;
        u8::from_str_radix(digits, 16).map_err(|_| "invalid hex escape")
    }

    fn octal_byte(&mut self, first: char) -> Result<u8, RefusedPattern> {
        let code = octal(self.rest, first);
        let more = self.rest.bytes().take(2).take_while(is_octal).count();
        self.rest = &self.rest[more..];
        u8::try_from(code).map_err(|_| INVALID_BYTES)
    }
}

/// The value of a first octal digit and up to two more.
pub(super) fn octal(rest: &str, first: char) -> u32 {
    let start = first.to_digit(8).unwrap_or(0);
    rest.bytes()
        .take(2)
        .take_while(is_octal)
        .fold(start, |code, digit| code * 8 + u32::from(digit - b'0'))
}

fn is_octal(byte: &u8) -> bool {
    (b'0'..=b'7').contains(byte)
}

fn hex(digits: &str) -> Option<u32> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u32::from_str_radix(digits, 16).ok())?
}

/// Writes a character so that it always matches only itself.
pub(super) fn push_code_point(out: &mut String, code: u32) {
    let _ = write!(out, "\\x{{{code:x}}}");
}
