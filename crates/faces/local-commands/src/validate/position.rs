//! Converts lines and columns to positions in a text. Main function: [`rest_of_line`].

use syntax::SourceSpan;

/// The range from a position to the end of its line; lines and columns count from 1, and 0 is the
/// start.
pub(super) fn rest_of_line(text: &str, line: usize, column: usize) -> SourceSpan {
    let skipped = line.saturating_sub(1);
    let before: usize = text.split_inclusive('\n').take(skipped).map(str::len).sum();
    let rest = text[before..].split('\n').next().unwrap_or_default();
    let letters = rest.char_indices().map(|(at, _)| at);
    let within = letters.chain([rest.len()]).nth(column.saturating_sub(1));
    let start = before + within.unwrap_or(rest.len());
    SourceSpan::new(offset(start), offset(before + rest.len()))
}

/// An offset in the type that sources use.
pub(super) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
