//! Quoted strings: `"…"` as in JSON, and `"""…"""` without escapes.

use crate::Error;
use crate::cursor::TextCursor;

/// Reads the string that starts at the cursor, which is at a quote.
pub(crate) fn read_string(cursor: &mut TextCursor<'_>) -> Result<String, Error> {
    let start = cursor.position();
    if cursor.eat("\"\"\"") {
        return read_triple_quoted(cursor)
            .ok_or_else(|| start.error("this \"\"\" string is never closed"));
    }
    cursor.bump();
    let mut text = String::new();
    loop {
        let at = cursor.position();
        match cursor.bump() {
            Some('"') => return Ok(text),
            Some('\\') => text.push(read_escape(cursor)?),
            Some(c) if c < ' ' => {
                return Err(at.error("a control character or line end within a quoted string"));
            }
            Some(c) => text.push(c),
            None => return Err(start.error("this string is never closed")),
        }
    }
}

/// Reads up to the closing three quotes; more quotes than three belong to the string.
fn read_triple_quoted(cursor: &mut TextCursor<'_>) -> Option<String> {
    let end = cursor.rest().find("\"\"\"")?;
    let mut text = cursor.take(end).to_owned();
    cursor.eat("\"\"\"");
    while cursor.eat("\"") {
        text.push('"');
    }
    Some(text)
}

fn read_escape(cursor: &mut TextCursor<'_>) -> Result<char, Error> {
    let at = cursor.position();
    match cursor.bump() {
        Some(c @ ('"' | '\\' | '/')) => Ok(c),
        Some('b') => Ok('\u{8}'),
        Some('f') => Ok('\u{c}'),
        Some('n') => Ok('\n'),
        Some('r') => Ok('\r'),
        Some('t') => Ok('\t'),
        Some('u') => read_unicode(cursor),
        _ => Err(at.error("an unknown escape; \\\\ stands for a backslash")),
    }
}

fn read_unicode(cursor: &mut TextCursor<'_>) -> Result<char, Error> {
    let at = cursor.position();
    let lone = || at.error("half of a surrogate pair");
    let first = read_utf16_unit(cursor)?;
    if !(0xd800..0xe000).contains(&first) {
        return char::from_u32(first).ok_or_else(lone);
    }
    if !cursor.eat("\\u") {
        return Err(lone());
    }
    let second = read_utf16_unit(cursor)?;
    if !(0xd800..0xdc00).contains(&first) || !(0xdc00..0xe000).contains(&second) {
        return Err(lone());
    }
    char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).ok_or_else(lone)
}

fn read_utf16_unit(cursor: &mut TextCursor<'_>) -> Result<u32, Error> {
    let mut value = 0;
    for _ in 0..4 {
        let at = cursor.position();
        let digit = cursor.bump().and_then(|c| c.to_digit(16));
        value = value * 16 + digit.ok_or_else(|| at.error("\\u needs four hexadecimal digits"))?;
    }
    Ok(value)
}
