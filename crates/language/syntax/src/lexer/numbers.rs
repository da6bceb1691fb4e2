//! Numbers, and the four errors with which Puppet refuses one.

use super::words::is_word;
use super::{LexerStep, SourceLexer};
use crate::token::TokenKind;

impl SourceLexer<'_, '_> {
    pub(super) fn number(&mut self) -> LexerStep {
        let start = self.pos;
        let bytes = self.text.as_bytes();
        let Some(end) = number_end(bytes, start) else {
            return self.bad_number(start);
        };
        let text = &self.text[start..end];
        if !is_hex(text.as_bytes())
            && text.len() > 1
            && text.starts_with('0')
            && !text.starts_with("0.")
        {
            let octal = text.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
            if !octal {
                self.pos = end;
                return self.refuse_number(start, start, end);
            }
        }
        let value = self.out.interner.intern(text);
        self.pos = end;
        self.token(TokenKind::Number, start, Some(value))
    }

    /// A digit at which no number begins.
    fn bad_number(&mut self, start: usize) -> LexerStep {
        let bytes = self.text.as_bytes();
        let mut end = start;
        while bytes.get(end).is_some_and(|byte| is_word(*byte)) {
            end += 1;
        }
        // the digits before a dot belong to the intended number
        let mut begin = start;
        if begin > 1 && bytes[begin - 1] == b'.' {
            let digits = bytes[..begin - 1].iter().rev();
            let count = digits.take_while(|byte| byte.is_ascii_digit()).count();
            if count > 0 {
                begin -= 1 + count;
            }
        }
        self.pos = end;
        self.refuse_number(start, begin, end)
    }

    fn refuse_number(&mut self, token: usize, begin: usize, end: usize) -> LexerStep {
        let text = &self.text[begin..end];
        let bytes = text.as_bytes();
        let (code, message) = if bytes.len() > 1 && bytes[0] == b'0' && bytes[1] | 32 == b'x' {
            (
                "INVALID_HEX_NUMBER",
                format!("Not a valid hex number {text}"),
            )
        } else if bytes.len() > 1 && bytes[0] == b'0' && bytes[1] != b'.' {
            let message = format!("Not a valid octal number {text}");
            ("INVALID_OCTAL_NUMBER", message)
        } else if matches!(after_digits(bytes), Some(b'e' | b'E' | b'.')) {
            let message = format!("Not a valid decimal number {text}");
            ("INVALID_DECIMAL_NUMBER", message)
        } else {
            ("ILLEGAL_NUMBER", format!("Illegal number '{text}'"))
        };
        let label = match code {
            "INVALID_OCTAL_NUMBER" => "a number that begins with 0 is octal: digits 0 to 7",
            "INVALID_HEX_NUMBER" => "after 0x come digits and the letters a to f",
            "INVALID_DECIMAL_NUMBER" => "written like 1.5 or 1.5e-3",
            _ => "a name cannot begin with a digit; quote it if it is text",
        };
        let end = end.max(token + 1);
        self.fault(code, begin..end, message).label = Some(label.into());
        LexerStep::Token(TokenKind::Error)
    }
}

fn after_digits(bytes: &[u8]) -> Option<u8> {
    bytes.iter().copied().find(|byte| !byte.is_ascii_digit())
}

fn is_hex(text: &[u8]) -> bool {
    text.len() > 2 && text[0] == b'0' && text[1] | 32 == b'x'
}

/// The end of the longest number that ends at a word boundary.
fn number_end(bytes: &[u8], start: usize) -> Option<usize> {
    let digits = |from: usize, ok: fn(&u8) -> bool| {
        let run = bytes.get(from..).unwrap_or(&[]).iter();
        from + run.take_while(|byte| ok(byte)).count()
    };
    let boundary = |at: usize| !bytes.get(at).is_some_and(|byte| is_word(*byte));
    if bytes[start] == b'0' && bytes.get(start + 1).is_some_and(|byte| byte | 32 == b'x') {
        let end = digits(start + 2, u8::is_ascii_hexdigit);
        return (end > start + 2 && boundary(end)).then_some(end);
    }
    let whole = digits(start, u8::is_ascii_digit);
    let mut candidates = [whole; 3];
    if bytes.get(whole) == Some(&b'.') {
        let fraction = digits(whole + 1, u8::is_ascii_digit);
        if fraction > whole + 1 {
            candidates[1] = fraction;
            candidates[2] = fraction;
        }
    }
    let mantissa = candidates[1];
    if bytes.get(mantissa).is_some_and(|byte| byte | 32 == b'e') {
        let minus = usize::from(bytes.get(mantissa + 1) == Some(&b'-'));
        let exponent = digits(mantissa + 1 + minus, u8::is_ascii_digit);
        if exponent > mantissa + 1 + minus {
            candidates[2] = exponent;
        }
    }
    candidates.into_iter().rev().find(|end| boundary(*end))
}
