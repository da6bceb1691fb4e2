//! Output of other programs, for errors.
//!
//! Invariant: it becomes text of bounded length without control characters that a terminal would
//! obey (A14).

use crate::defaults::WORDS_BYTES;

/// Converts `bytes` to trimmed text.
pub(crate) fn sanitize_output(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text: String = text
        .chars()
        .filter(|c| *c == '\n' || !c.is_control())
        .collect();
    let text = text.trim();
    text[..text.floor_char_boundary(WORDS_BYTES)].to_owned()
}
