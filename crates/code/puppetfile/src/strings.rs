//! Parsing of quoted texts by Ruby's rules. Main functions: [`read_single_quoted`],
//! [`read_double_quoted`].
//!
//! Invariant: in `#{…}` only names are supported.

use crate::lexer::{LexerCursor, is_word};
use crate::token::QuotedPiece;

const UNENDED: &str = "this text has no end";

/// The closing delimiter for an opening one.
pub(crate) fn closing_delimiter(open: char) -> Option<char> {
    Some(match open {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        '<' => '>',
        c if c.is_ascii_punctuation() => c,
        _ => return None,
    })
}

/// Reads up to and including `close`: only `\\` and the quotes can be escaped.
pub(crate) fn read_single_quoted(
    cursor: &mut LexerCursor<'_>,
    open: char,
    close: char,
) -> Result<Vec<QuotedPiece>, String> {
    let mut text = String::new();
    let mut depth = 0_usize;
    while let Some(c) = cursor.next() {
        match c {
            '\\' => match cursor.peek() {
                Some(next) if next == '\\' || next == close || next == open => {
                    text.push(next);
                    cursor.next();
                }
                _ => text.push('\\'),
            },
            c if c == close && depth == 0 => return Ok(vec![QuotedPiece::Literal(text)]),
            c => {
                count_nesting(&mut depth, c, open, close);
                text.push(c);
            }
        }
    }
    Err(UNENDED.to_owned())
}

/// Reads up to and including `close`, with escapes and interpolated names.
pub(crate) fn read_double_quoted(
    cursor: &mut LexerCursor<'_>,
    open: char,
    close: char,
) -> Result<Vec<QuotedPiece>, String> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut depth = 0_usize;
    while let Some(c) = cursor.next() {
        match c {
            '\\' => read_escape(cursor, &mut text)?,
            '#' if cursor.take_if('{') => {
                pieces.push(QuotedPiece::Literal(std::mem::take(&mut text)));
                pieces.push(QuotedPiece::Name(read_interpolated(cursor)?));
            }
            c if c == close && depth == 0 => {
                pieces.push(QuotedPiece::Literal(text));
                return Ok(pieces);
            }
            c => {
                count_nesting(&mut depth, c, open, close);
                text.push(c);
            }
        }
    }
    Err(UNENDED.to_owned())
}

fn count_nesting(depth: &mut usize, c: char, open: char, close: char) {
    if open == close {
        return;
    }
    if c == open {
        *depth += 1;
    } else if c == close {
        *depth -= 1;
    }
}

fn read_interpolated(cursor: &mut LexerCursor<'_>) -> Result<String, String> {
    let inner = cursor.take_while(|c| c != '}' && c != '"' && c != '\n');
    if !cursor.take_if('}') {
        return Err("a #{ in this text has no }".to_owned());
    }
    let name = inner.trim();
    let is_name = name
        .chars()
        .next()
        .is_some_and(|c| c.is_alphabetic() || c == '_')
        && name.chars().all(is_word);
    match is_name {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "#{{{name}}} is Ruby that is not run; only names of texts that this file defines are put in"
        )),
    }
}

fn read_escape(cursor: &mut LexerCursor<'_>, text: &mut String) -> Result<(), String> {
    let Some(c) = cursor.next() else {
        return Err(UNENDED.to_owned());
    };
    text.push(match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        's' => ' ',
        'e' => '\u{1b}',
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'v' => '\u{b}',
        '0' => '\0',
        '\n' => return Ok(()),
        'u' => return read_unicode(cursor, text),
        'x' => {
            let digits: String = read_hexadecimal(cursor, 2);
            let byte = u8::from_str_radix(&digits, 16).ok().filter(u8::is_ascii);
            char::from(byte.ok_or("\\x in this text names no ASCII character")?)
        }
        c => c,
    });
    Ok(())
}

fn read_unicode(cursor: &mut LexerCursor<'_>, text: &mut String) -> Result<(), String> {
    let wrong = "\\u in this text names no character";
    if !cursor.take_if('{') {
        text.push(parse_character(&read_hexadecimal(cursor, 4)).ok_or(wrong)?);
        return Ok(());
    }
    let inner = cursor.take_while(|c| c.is_ascii_hexdigit() || c == ' ');
    if !cursor.take_if('}') {
        return Err(wrong.to_owned());
    }
    for digits in inner.split_whitespace() {
        text.push(parse_character(digits).ok_or(wrong)?);
    }
    Ok(())
}

fn parse_character(digits: &str) -> Option<char> {
    u32::from_str_radix(digits, 16)
        .ok()
        .and_then(char::from_u32)
}

fn read_hexadecimal(cursor: &mut LexerCursor<'_>, most: usize) -> String {
    let mut digits = String::new();
    while digits.len() < most {
        match cursor.peek().filter(char::is_ascii_hexdigit) {
            Some(digit) => digits.push(digit),
            None => break,
        }
        cursor.next();
    }
    digits
}
