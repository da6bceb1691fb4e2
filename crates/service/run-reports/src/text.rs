//! Texts of reports: [`clean_text`].
//!
//! Invariant: a kept text has a bounded length and no NUL, which PostgreSQL and PuppetDB refuse.

use crate::defaults::{MESSAGE_BYTES, NAME_BYTES};

/// The end of a text that was cut.
const CUT: &str = "… [cut]";

/// A text of at most `limit` bytes, with U+FFFD instead of NUL.
pub(crate) fn clean_text(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        let end = text.floor_char_boundary(limit.saturating_sub(CUT.len()));
        text.truncate(end);
        text.push_str(CUT);
    }
    match text.contains('\0') {
        true => text.replace('\0', "\u{fffd}"),
        false => text,
    }
}

/// A name, title or version.
pub(crate) fn clean_name(text: String) -> String {
    clean_text(text, NAME_BYTES)
}

/// A message or a value of a property.
pub(crate) fn clean_message(text: String) -> String {
    clean_text(text, MESSAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(clean_text("abc".to_owned(), 3), "abc");
        let cut = clean_text("ä".repeat(20), 20);
        assert_eq!(cut, format!("{}{CUT}", "ä".repeat(5)));
        assert_eq!(clean_text("a\0b".to_owned(), 10), "a\u{fffd}b");
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_longer_than_its_limit(text in ".{0,40}", limit in 16usize..40) {
            let cleaned = clean_text(text, limit);
            // A NUL becomes three bytes.
            let length = cleaned.chars().filter(|it| *it != '\u{fffd}').map(char::len_utf8).sum::<usize>();
            proptest::prop_assert!(length <= limit);
        }
    }
}
