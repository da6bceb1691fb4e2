//! Arbitrary templates and functions neither panic nor change values.

use proptest::prelude::*;

use crate::entry;

/// Pieces of which the bodies of methods are made, besides those of templates.
const METHOD_PIECES: &[&str] = &[
    "\n",
    "a",
    "b",
    "c",
    "g(",
    "g",
    ")",
    "x = ",
    "x, y = *",
    "return ",
    "if a",
    "end",
    "begin\n",
    "\nrescue ArgumentError => e\n",
    "\nrescue\n",
    "raise ",
    "raise(Puppet::ParseError, ",
    "_('t')",
    "until a == 1",
    "while b",
    " do |k, v|",
    ".each",
    ".map",
    "{ |i| ",
    "}",
    "[",
    "]",
    "{}",
    " += 1",
    " << 1",
    " == ",
    " =~ %r{a{1,2}}",
    "$1",
    "require 'base64'\n",
    "require 'ipaddr'\n",
    "IPAddr.new(",
    "Base64.strict_encode64(",
    "Digest::SHA1.hexdigest(",
    "Digest::MD5.digest(",
    "closure_scope",
    "['x']",
    "call_function('f', ",
    ".to_s",
    ".to_f",
    "'s'",
    "7",
    "dispatch :f do\n",
    "param 'String', :a\n",
    "def h(z)\n",
];

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

    #[test]
    fn arbitrary_functions_are_read(
        pieces in proptest::collection::vec(proptest::sample::select(METHOD_PIECES), 0..30)
    ) {
        entry::function(pieces.concat().as_bytes());
    }
}
