//! Arbitrary templates neither panic nor change values.

use proptest::prelude::*;

use crate::entry;

/// Pieces of which templates are made.
const PIECES: &[&str] = &[
    "<% ",
    "<%= ",
    "<%- ",
    " %>",
    " -%>\n",
    "<%#",
    "<%%",
    "%%>",
    "text",
    "\n",
    "  ",
    "if @a",
    "unless x",
    "else",
    "elsif @b",
    "end",
    "x = ",
    "@x ||= ",
    "x",
    "@a",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "|x|",
    "|k, v|",
    " do ",
    ".each",
    ".map",
    ".join(',')",
    ".sort",
    "[0]",
    "['a']",
    ".to_s",
    ".size",
    "'s'",
    "\"#{",
    "\"",
    "}",
    "1",
    "-2",
    " + ",
    " - ",
    " * ",
    " / ",
    " % ",
    " << ",
    " == ",
    " =~ /a/",
    " ? ",
    " : ",
    " && ",
    " || ",
    " and ",
    "not ",
    "!",
    "scope['x']",
    "scope.function_f([",
    "])",
    "nil",
    "case @a",
    " when ",
    "next",
    "break",
    ";",
    "# c",
    ",",
    " => ",
    "a: ",
    "..",
    "é",
    "\\",
    "&:to_s",
    ".gsub(/a/, 'b')",
    ".first(",
    ".inject",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn arbitrary_bytes_are_read(data in proptest::collection::vec(any::<u8>(), 0..200)) {
        entry::template(&data);
    }

    #[test]
    fn arbitrary_pieces_are_read(
        pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..40)
    ) {
        entry::template(pieces.concat().as_bytes());
    }
}
