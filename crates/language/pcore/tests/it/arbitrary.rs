//! Arbitrary texts, and texts that look like types and values.

use proptest::prelude::*;

use crate::entry;

const WORDS: &[&str] = &[
    "Integer",
    "String",
    "Array",
    "Hash",
    "Struct",
    "Tuple",
    "Variant",
    "Optional",
    "NotUndef",
    "Enum",
    "Pattern",
    "Callable",
    "Type",
    "Sensitive",
    "Object",
    "TypeSet",
    "Init",
    "Iterable",
    "SemVer",
    "Timestamp",
    "Timespan",
    "Error",
    "Target",
    "[",
    "]",
    "{",
    "}",
    ", ",
    " => ",
    "'a'",
    "'1.x'",
    "1",
    "-1",
    "0.5",
    "default",
    "undef",
    "true",
    "/a/",
    "\n",
    "'b' ",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        entry::types(&bytes);
    }

    #[test]
    fn no_words_make_it_panic(
        words in proptest::collection::vec(prop::sample::select(WORDS), 0..40),
    ) {
        entry::types(words.concat().as_bytes());
    }
}
