//! Quoted strings: `"…"` as in JSON, and `"""…"""` taken as it is.

use crate::Error;
use crate::cursor::Cursor;

/// Reads the string that starts at the cursor, which is at a quote.
pub(crate) fn string(cursor: &mut Cursor<'_>) -> Result<String, Error> {
    let start = cursor.position();
    if cursor.eat("\"\"\"") {
        return triple(cursor).ok_or_else(|| start.error("this \"\"\" string is never closed"));
    }
    cursor.bump();
    let mut text = String::new();
    loop {
        let at = cursor.position();
        match cursor.bump() {
            Some('"') => return Ok(text),
            Some('\\') => text.push(escape(cursor)?),
            Some(c) if c < ' ' => {
                return Err(at.error("a control character or line end within a quoted string"));
            }
            Some(c) => text.push(c),
            None => return Err(start.error("this string is never closed")),
        }
    }
}

/// Quotes beyond the closing three belong to the string.
fn triple(cursor: &mut Cursor<'_>) -> Option<String> {
    let end = cursor.rest().find("\"\"\"")?;
    let mut text = cursor.take(end).to_owned();
    cursor.eat("\"\"\"");
    while cursor.eat("\"") {
        text.push('"');
    }
    Some(text)
}

fn escape(cursor: &mut Cursor<'_>) -> Result<char, Error> {
    let at = cursor.position();
    match cursor.bump() {
        Some(c @ ('"' | '\\' | '/')) => Ok(c),
        Some('b') => Ok('\u{8}'),
        Some('f') => Ok('\u{c}'),
        Some('n') => Ok('\n'),
        Some('r') => Ok('\r'),
        Some('t') => Ok('\t'),
        Some('u') => unicode(cursor),
        _ => Err(at.error("an unknown escape; \\\\ stands for a backslash")),
    }
}

fn unicode(cursor: &mut Cursor<'_>) -> Result<char, Error> {
    let at = cursor.position();
    let lone = || at.error("half of a surrogate pair");
    let first = unit(cursor)?;
    if !(0xd800..0xe000).contains(&first) {
        return char::from_u32(first).ok_or_else(lone);
    }
    if !cursor.eat("\\u") {
        return Err(lone());
    }
    let second = unit(cursor)?;
    if !(0xd800..0xdc00).contains(&first) || !(0xdc00..0xe000).contains(&second) {
        return Err(lone());
    }
    char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).ok_or_else(lone)
}

fn unit(cursor: &mut Cursor<'_>) -> Result<u32, Error> {
    let mut value = 0;
    for _ in 0..4 {
        let at = cursor.position();
        let digit = cursor.bump().and_then(|c| c.to_digit(16));
        value = value * 16 + digit.ok_or_else(|| at.error("\\u needs four hexadecimal digits"))?;
    }
    Ok(value)
}
