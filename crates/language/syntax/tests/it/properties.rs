//! No input makes the crate panic, overflow the stack, or lose a byte.

use proptest::prelude::*;
use syntax::{PieceKind, SourceText, SyntaxOptions};

use crate::entry::{manifest, template};
use crate::{errors, read, read_as};

/// Words and signs of the language, which lead the parser into many of its branches.
fn part() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "class",
        "define",
        "node",
        "function",
        "type",
        "plan",
        "apply",
        "if",
        "elsif",
        "else",
        "unless",
        "case",
        "default",
        "undef",
        "true",
        "and",
        "or",
        "in",
        "inherits",
        "notice",
        "return",
        "file",
        "Foo::Bar",
        "String",
        "$x",
        "$a::b",
        "::c",
        "b-c",
        "0x1F",
        "08",
        "1.5",
        "'s'",
        "\"d${x}\"",
        "\"${",
        "\"$",
        "'",
        "\"",
        "/x/",
        "/",
        "@(END)\n",
        "@(\"E\":json/L)\n",
        "| END\n",
        "E\n",
        "#c\n",
        "/*",
        "*/",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "<|",
        "|>",
        "<<|",
        "|>>",
        "=>",
        "+>",
        "->",
        "~>",
        "<-",
        "=",
        "+=",
        "==",
        "=~",
        "!",
        "-",
        "*",
        "%",
        "?",
        ":",
        ";",
        ",",
        ".",
        "|",
        "@",
        "@@",
        "<%",
        "%>",
        "<%=",
        "-%>",
        "<%#",
        "<%%",
        "\n",
        " ",
        "\\",
        "\0",
        "é",
        "\u{a0}",
    ]);
    words.prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn bytes_of_any_kind(data in prop::collection::vec(any::<u8>(), 0..200)) {
        manifest(&data);
        template(&data);
    }

    #[test]
    fn words_of_the_language(parts in prop::collection::vec(part(), 0..60)) {
        let text = parts.concat();
        manifest(text.as_bytes());
        template(text.as_bytes());
        let spaced = parts.join(" ");
        manifest(spaced.as_bytes());
        template(spaced.as_bytes());
    }

    #[test]
    fn what_is_accepted_has_only_blanks_between(parts in prop::collection::vec(part(), 0..12)) {
        let text = parts.join(" ");
        if !text.contains("@(") && errors(&read(&text)).is_empty() {
            nothing_is_lost(&text);
        }
    }
}

/// 100,000 levels of everything that nests, on a stack of 256 kB.
#[test]
fn depth_is_an_error_on_any_stack() {
    const LEVELS: usize = 100_000;
    let sources = [
        "(".repeat(LEVELS),
        "[".repeat(LEVELS),
        "{a=>".repeat(LEVELS),
        "!".repeat(LEVELS) + "$x",
        "- ".repeat(LEVELS) + "$x",
        "@".repeat(LEVELS) + "file",
        "$a = ".repeat(LEVELS) + "1",
        "if true { ".repeat(LEVELS),
        "if a {} els".repeat(LEVELS),
        "if $x {} elsif $y {} ".to_owned() + &"elsif $z {} ".repeat(LEVELS),
        "class a { ".repeat(LEVELS),
        "$x ? { a => ".repeat(LEVELS),
        "$x ? a => ".repeat(LEVELS) + "1",
        "f() |$x| { ".repeat(LEVELS),
        "\"${".repeat(LEVELS),
        "$x[".repeat(LEVELS),
        "T[".repeat(LEVELS),
        "case $x { a: { ".repeat(LEVELS),
        "file { x: a => [".repeat(LEVELS),
        "@(\"A\")\n${".repeat(LEVELS),
    ];
    let shallow = std::thread::Builder::new().stack_size(256 * 1024);
    let parsing = shallow.spawn(move || {
        for source in &sources {
            let start: String = source.chars().take(20).collect();
            assert!(!errors(&read(source)).is_empty(), "{start}");
            template(source.as_bytes());
        }
    });
    parsing.expect("a thread").join().expect("no overflow");
}

/// A long source that is not deep is no error, whatever its length.
#[test]
fn length_is_no_error() {
    let long = [
        "$x = 1".to_owned() + &" + 1".repeat(100_000),
        "$x = $y".to_owned() + &".foo".repeat(100_000),
        "$x = $y".to_owned() + &"[0]".repeat(100_000),
        "notice(1)\n".repeat(100_000),
        format!("$x = [{}]", "1,".repeat(100_000)),
        "A['a']".to_owned() + &" -> A['a']".repeat(100_000),
    ];
    let shallow = std::thread::Builder::new().stack_size(256 * 1024);
    let parsing = shallow.spawn(move || {
        for source in &long {
            assert_eq!(errors(&read(source)), Vec::<String>::new());
        }
    });
    parsing.expect("a thread").join().expect("no overflow");
}

/// Realistic depth is accepted: 200 levels, which Puppet accepts too.
#[test]
fn two_hundred_levels_are_read() {
    let nested = "[".repeat(200) + &"]".repeat(200);
    assert_eq!(
        errors(&read(&format!("$x = {nested}"))),
        Vec::<String>::new()
    );
    let blocks = "if $x { ".repeat(200) + "notice(1)" + &" }".repeat(200);
    assert_eq!(errors(&read(&blocks)), Vec::<String>::new());
    let plan = format!("plan a {{ {blocks} }}");
    let tasks = SyntaxOptions {
        tasks: true,
        ..SyntaxOptions::default()
    };
    assert_eq!(errors(&read_as(&plan, tasks)), Vec::<String>::new());
}

/// Without faults, the text between tokens is blank.
fn nothing_is_lost(code: &str) {
    let source = SourceText::new(None, code);
    for piece in syntax::pieces(&source, SyntaxOptions::default()) {
        if piece.kind == PieceKind::Between {
            let between = source.slice(piece.span);
            assert!(between.trim_matches('}').trim().is_empty(), "{between:?}");
        }
    }
}
