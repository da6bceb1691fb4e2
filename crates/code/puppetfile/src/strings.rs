//! Parsing of quoted texts by Ruby's rules. Main functions: [`single`], [`double`].
//!
//! Invariant: in `#{…}` only names are supported.

use crate::lexer::{Cursor, is_word};
use crate::token::Piece;

const UNENDED: &str = "this text has no end";

/// The closing delimiter for an opening one.
pub(crate) fn closing(open: char) -> Option<char> {
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
pub(crate) fn single(
    cursor: &mut Cursor<'_>,
    open: char,
    close: char,
) -> Result<Vec<Piece>, String> {
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
            c if c == close && depth == 0 => return Ok(vec![Piece::Literal(text)]),
            c => {
                nest(&mut depth, c, open, close);
                text.push(c);
            }
        }
    }
    Err(UNENDED.to_owned())
}

/// Reads up to and including `close`, with escapes and interpolated names.
pub(crate) fn double(
    cursor: &mut Cursor<'_>,
    open: char,
    close: char,
) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut depth = 0_usize;
    while let Some(c) = cursor.next() {
        match c {
            '\\' => escape(cursor, &mut text)?,
            '#' if cursor.take_if('{') => {
                pieces.push(Piece::Literal(std::mem::take(&mut text)));
                pieces.push(Piece::Name(interpolated(cursor)?));
            }
            c if c == close && depth == 0 => {
                pieces.push(Piece::Literal(text));
                return Ok(pieces);
            }
            c => {
                nest(&mut depth, c, open, close);
                text.push(c);
            }
        }
    }
    Err(UNENDED.to_owned())
}

fn nest(depth: &mut usize, c: char, open: char, close: char) {
    if open == close {
        return;
    }
    if c == open {
        *depth += 1;
    } else if c == close {
        *depth -= 1;
    }
}

fn interpolated(cursor: &mut Cursor<'_>) -> Result<String, String> {
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

fn escape(cursor: &mut Cursor<'_>, text: &mut String) -> Result<(), String> {
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
        'u' => return unicode(cursor, text),
        'x' => {
            let digits: String = hexadecimal(cursor, 2);
            let byte = u8::from_str_radix(&digits, 16).ok().filter(u8::is_ascii);
            char::from(byte.ok_or("\\x in this text names no ASCII character")?)
        }
        c => c,
    });
    Ok(())
}

fn unicode(cursor: &mut Cursor<'_>, text: &mut String) -> Result<(), String> {
    let wrong = "\\u in this text names no character";
    if !cursor.take_if('{') {
        text.push(character(&hexadecimal(cursor, 4)).ok_or(wrong)?);
        return Ok(());
    }
    let inner = cursor.take_while(|c| c.is_ascii_hexdigit() || c == ' ');
    if !cursor.take_if('}') {
        return Err(wrong.to_owned());
    }
    for digits in inner.split_whitespace() {
        text.push(character(digits).ok_or(wrong)?);
    }
    Ok(())
}

fn character(digits: &str) -> Option<char> {
    u32::from_str_radix(digits, 16)
        .ok()
        .and_then(char::from_u32)
}

fn hexadecimal(cursor: &mut Cursor<'_>, most: usize) -> String {
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
