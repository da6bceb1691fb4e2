//! Arbitrary text, and text that looks like YAML.

use proptest::prelude::*;

use crate::entry;

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        entry::document(&bytes);
    }

    #[test]
    fn no_document_makes_it_panic(
        pieces in proptest::collection::vec(prop_oneof![
            Just("a"), Just("b: "), Just(": "), Just("- "), Just("\n"), Just("\n  "), Just("\n    "),
            Just("["), Just("]"), Just("{"), Just("}"), Just(", "), Just("&x "), Just("*x "),
            Just("<<: "), Just("!!str "), Just("!ruby/object:A "), Just("! "), Just("'"), Just("\""),
            Just("\\"), Just("|"), Just(">"), Just("-"), Just("? "), Just("#"), Just("---\n"),
            Just("..."), Just("\t"), Just("010"), Just("12:30"), Just("2001-01-01"), Just("é"),
            Just("%"), Just("@"), Just("\r"), Just("~"), Just("!!binary "), Just("0x"), Just(".inf"),
        ], 0..40),
    ) {
        entry::document(pieces.concat().as_bytes());
    }

    #[test]
    fn every_plain_word_is_read(text in "[-+0-9a-zA-Z:._~,]{1,12}") {
        entry::document(text.as_bytes());
        entry::document(format!("k: {text}").as_bytes());
    }
}
