//! Arbitrary text, and text that looks like patterns.

use proptest::prelude::*;

use crate::entry;

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        entry::pattern_and_text(&bytes);
    }

    #[test]
    fn no_pattern_makes_it_panic(
        pieces in proptest::collection::vec(prop_oneof![
            Just("("), Just(")"), Just("(?:"), Just("(?<a>"), Just("(?="), Just("(?<!"), Just("(?>"),
            Just("(?i)"), Just("(?u:"), Just("["), Just("]"), Just("[^"), Just("[:alpha:]"),
            Just("&&"), Just("-"), Just("a"), Just("é"), Just("."), Just("*"), Just("+"), Just("?"),
            Just("{2,3}"), Just("{0}"), Just("|"), Just("^"), Just("$"), Just("\\b"), Just("\\w"),
            Just("\\s"), Just("\\1"), Just("\\k<a>"), Just("\\g<a>"), Just("\\R"), Just("\\X"),
            Just("\\K"), Just("\\G"), Just("\\p{L}"), Just("\\u{61 62}"), Just("\\x41"), Just("\\"),
            Just("\n"), Just("(?~"), Just("(?(1)"), Just("#"), Just(" "),
        ], 0..14),
    ) {
        entry::pattern_and_text(pieces.concat().as_bytes());
    }
}
