//! Arbitrary texts, and texts that look like programs.

use proptest::prelude::*;

use crate::entry;

const WORDS: &[&str] = &[
    "$a",
    " = ",
    "[1, 2, 3]",
    "{a => 1}",
    "'x'",
    "\"${a}\"",
    ".each",
    "map",
    "filter",
    "reduce",
    " |$x| ",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ", ",
    "if ",
    "case ",
    "else ",
    "default",
    "undef",
    " + ",
    " - ",
    " * ",
    " << ",
    " =~ ",
    " ? ",
    " => ",
    "Integer",
    "String",
    "Type",
    "new",
    "1",
    "0",
    "-1",
    "1.5",
    "/a/",
    "notice(",
    "fail('x')",
    "\n",
    " ",
    "with",
    "then",
    "lest",
    "function f($n) { f($n) }\n",
    "f(1)",
    "type T = Array[T]\n",
    "T",
    "split",
    "sprintf",
    "%s",
    "range",
    "*",
    "!",
    " and ",
    " or ",
    "regsubst",
    "@(X)\n x\n | X\n",
    "unless ",
    "return(",
    "break()",
    "next()",
    "Sensitive",
    "Timestamp",
    "inline_epp",
    "slice",
    "step",
    "unique",
    "sort",
    "tree_each",
    "call",
    "lookup(",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        entry::program(&bytes);
    }

    #[test]
    fn no_words_make_it_panic(
        words in proptest::collection::vec(prop::sample::select(WORDS), 0..40),
    ) {
        entry::program(words.concat().as_bytes());
    }
}
