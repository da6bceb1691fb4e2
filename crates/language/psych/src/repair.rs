//! Notations that Psych accepts and `saphyr-parser`, which follows YAML 1.2, refuses: [`repair`].
//!
//! Invariant: only blanks without a meaning change, between values and at the beginning of a quoted
//! text's lines, so no value changes; the number of lines stays the same.

use saphyr_parser::ScanError;

/// The text without the cause of the parser's error; `None` if it is not one of these notations.
pub(crate) fn repair(text: &str, error: &ScanError) -> Option<String> {
    let at = byte_of(text, error.marker().index());
    match error.info() {
        "':' must be followed by a valid YAML whitespace" => without_tabs(text, at),
        "invalid indentation in quoted scalar" => {
            indent_continuation(text, at, error.marker().col())
        }
        _ => None,
    }
}

fn byte_of(text: &str, character: usize) -> usize {
    let place = text.char_indices().nth(character);
    place.map_or(text.len(), |(byte, _)| byte)
}

/// Converts the blanks before a position to spaces.
fn without_tabs(text: &str, end: usize) -> Option<String> {
    let start = text[..end].trim_end_matches(['\t', ' ']).len();
    let blanks = text[start..end].contains('\t').then_some(end - start)?;
    Some([&text[..start], &" ".repeat(blanks), &text[end..]].concat())
}

/// Indents the lines of the quoted text that begins at a position to its column.
fn indent_continuation(text: &str, start: usize, column: usize) -> Option<String> {
    let mut chars = text[start..].chars();
    let quote = chars.next().filter(|c| matches!(c, '"' | '\''))?;
    let mut out = text[..=start].to_owned();
    let mut any = false;
    while let Some(c) = chars.next() {
        out.push(c);
        match c {
            '\\' if quote == '"' => {
                let escaped = chars.next()?;
                out.push(escaped);
                any |= escaped == '\n' && move_in(&mut out, chars.as_str(), column);
            }
            '\n' => any |= move_in(&mut out, chars.as_str(), column),
            c if c == quote => {
                let rest = chars.as_str();
                // Two single quotes denote one.
                if quote == '\'' && rest.starts_with('\'') {
                    out.extend(chars.next());
                    continue;
                }
                out.push_str(rest);
                return any.then_some(out);
            }
            _ => {}
        }
    }
    None
}

/// Indents a line that is neither blank nor indented yet.
fn move_in(out: &mut String, line: &str, column: usize) -> bool {
    let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
    let blank = line[indent..].starts_with(['\n', '\r']);
    let short = !blank && indent < column + 1;
    if short {
        out.push_str(&" ".repeat(column + 1 - indent));
    }
    short
}
