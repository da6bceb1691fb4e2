//! Arbitrary text, and text that looks like HOCON.

use proptest::prelude::*;

use crate::entry;

const WORDS: &[&str] = &[
    "a", "b.c", " = ", ": ", "{", "}", "[", "]", ", ", "\n", "\"x\"", "\"\"\"", "${a}", "${?b}",
    "+=", "# c", "// d", "1", "1.5e3", "true", "null", "\\", "include ", "\"", "é", "$", "	", " ",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        entry::document(&bytes);
    }

    #[test]
    fn no_words_make_it_panic(
        words in proptest::collection::vec(prop::sample::select(WORDS), 0..40),
    ) {
        entry::document(words.concat().as_bytes());
    }
}
