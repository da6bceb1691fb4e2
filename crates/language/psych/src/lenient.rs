//! What Psych's parser takes and ours, which follows YAML 1.2, refuses: [`repaired`].
//!
//! The rule: only blanks between values and at the beginning of a quoted text's lines change,
//! which mean nothing, so no value does; lines stay what they are.

use saphyr_parser::ScanError;

/// The text without what the parser stumbled over, if it is one of these.
pub(crate) fn repaired(text: &str, error: &ScanError) -> Option<String> {
    let at = byte_of(text, error.marker().index());
    match error.info() {
        "':' must be followed by a valid YAML whitespace" => without_tabs(text, at),
        "invalid indentation in quoted scalar" => indented(text, at, error.marker().col()),
        _ => None,
    }
}

fn byte_of(text: &str, character: usize) -> usize {
    let place = text.char_indices().nth(character);
    place.map_or(text.len(), |(byte, _)| byte)
}

/// The blanks before a place become spaces.
fn without_tabs(text: &str, end: usize) -> Option<String> {
    let start = text[..end].trim_end_matches(['\t', ' ']).len();
    let blanks = text[start..end].contains('\t').then_some(end - start)?;
    Some([&text[..start], &" ".repeat(blanks), &text[end..]].concat())
}

/// The lines of the quoted text that begins at a place are moved in to its column.
fn indented(text: &str, start: usize, column: usize) -> Option<String> {
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
                // Two single quotes are one that is meant.
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

/// Indents a line that is not blank and not in yet.
fn move_in(out: &mut String, line: &str, column: usize) -> bool {
    let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
    let blank = line[indent..].starts_with(['\n', '\r']);
    let short = !blank && indent < column + 1;
    if short {
        out.push_str(&" ".repeat(column + 1 - indent));
    }
    short
}
