//! Syntax errors: Puppet's wording at Puppet's position, all of a file at once, with hints.

use syntax::SyntaxOptions;
use syntax::defaults::{MAX_SYNTAX_ERRORS, MAX_VALIDATION_FAULTS, MAX_WARNINGS};

use crate::{errors, read, read_as};

/// The first error of each, as `puppet parser validate` of Puppet 7.23 gives it.
const FIRST: &[(&str, &str)] = &[
    ("file { 'a' mode => 1 }", "1:12 Syntax error at 'mode'"),
    ("notice(1);", "1:11 Syntax error at end of input"),
    ("if true { ", "1:11 Syntax error at end of input"),
    ("$x = [1 2]", "1:9 Syntax error at '2'"),
    ("return { 'a' => 1 }", "1:14 Syntax error at '=>'"),
    (
        "class class {}",
        "1:7 'class' keyword not allowed at this location",
    ),
    ("$h ['a']\n}", "2:1 Syntax error at '}'"),
    ("$a = 08", "1:6 Not a valid octal number 08"),
    ("$a = 0xG", "1:6 Not a valid hex number 0xG"),
    ("$a = 12ab", "1:6 Illegal number '12ab'"),
    (
        "$a = 'abc",
        "1:7 Unclosed quote after \"'\" followed by 'abc...'",
    ),
    ("Foo::bar", "1:5 Illegal class reference"),
    ("/* x", "1:1 Unclosed multiline comment"),
    ("$a = @(END)\nx\n", "2:1 Heredoc without end-tagged line"),
    (
        "foo 1, 2",
        "1:6 attempt to pass argument list to the function 'foo' which cannot be called without parentheses",
    ),
    ("1, 2", "1:2 illegal comma separated argument list"),
    (
        "@foo",
        "1:1 Virtual (@) can only be applied to a Resource Expression",
    ),
    (
        "$x { a => 1 }",
        "1:1 Expression is not valid as a resource, resource-default, or resource-override",
    ),
    (
        "file { a +> 1 }",
        "1:6 Syntax error resource body without title or hash with +>",
    ),
    ("$x.foo(1,)", "1:10 Syntax error at ')'"),
    ("} { else\n service { 'x': }", "1:1 Syntax error at '}'"),
    ("node foo-1.example.com {}", "1:11 Syntax error at '.'"),
];

#[test]
fn the_first_error_is_puppets() {
    for (code, expected) in FIRST {
        let parsed = read(code);
        let found = errors(&parsed);
        assert_eq!(found.first().map(String::as_str), Some(*expected), "{code}");
    }
}

#[test]
fn all_faults_of_a_file_come_at_once() {
    let parsed = read(
        "class a {\n  $x = = 1\n  notice('ok')\n}\nclass b {\n  file { 'x': mode = 1 }\n}\ndefine { }\n",
    );
    let expected = [
        "2:8 Syntax error at '='",
        "6:20 Syntax error at '='",
        "8:8 Syntax error at '{'",
    ];
    assert_eq!(errors(&parsed), expected);
}

/// A fault among the parameters does not hide those of the body.
#[test]
fn a_broken_parameter_list_does_not_hide_the_body() {
    let parsed = read(
        "class a (\n  String $x\n  Integer $y = f([1]),\n) {\n  file { 'x': mode => 1 owner => 2 }\n}\n",
    );
    let expected = [
        "3:3 Syntax error at 'Integer'",
        "5:25 Syntax error at 'owner'",
    ];
    assert_eq!(errors(&parsed), expected);
}

/// The help that is added to Puppet's wording.
#[test]
fn hints_say_what_was_meant() {
    let hint = |code: &str| {
        let parsed = read(code);
        let fault = parsed.diagnostics.first().expect("a fault");
        let labels = fault.labels.iter().map(|label| label.message.to_string());
        labels
            .chain(fault.help.iter().map(ToString::to_string))
            .collect::<Vec<_>>()
            .join("; ")
    };
    assert_eq!(
        hint("if true { } esle { 'a' }"),
        "did you mean `else` instead of `esle`?"
    );
    assert_eq!(hint("$x = [1, 2"), "opened here, and not closed");
    assert_eq!(hint("f(1 2)"), "is a comma missing here?");
    assert_eq!(
        hint("$x = [1,\n2\nnotice($x)"),
        "is a comma missing here?; this is still open"
    );
    assert_eq!(hint("if true {} else if false {}"), "write `elsif`");
    assert!(hint("return { 'a' => 1 }").contains("`return({ … })`"));
    assert!(hint("return /a b/").contains("`return(/…/)`"));
    assert!(
        hint("site { } +").contains("Puppet 7 removed: to use it, write `applications = true`")
    );
}

#[test]
fn a_source_that_is_wrong_all_over_is_told_in_bounds() {
    let unread = |part: &str| read(&part.repeat(10_000)).diagnostics;
    for part in ["::", "$a = 08\n", "if { ]\n", "@(E) "] {
        let found = unread(part).len();
        assert!(
            (1..=MAX_SYNTAX_ERRORS).contains(&found),
            "{part:?}: {found}"
        );
    }
    let unsound = [
        format!("$x = {{ {} }}", "a => 1, ".repeat(10_000)),
        format!("$x = [{}]", "99999999999999999999, ".repeat(10_000)),
        format!("case $x {{ {} }}", "default: {} ".repeat(10_000)),
    ];
    for code in unsound {
        let found = read(&code).diagnostics.len();
        assert_eq!(found, MAX_VALIDATION_FAULTS, "{}", &code[..30]);
    }
    let strange = read(&format!("$x = \"{}\"", "\\q".repeat(10_000)));
    assert_eq!(strange.diagnostics.len(), MAX_WARNINGS);
}

/// The length of a chain is not nesting and has no limit: 100,000 operators are a tree of that
/// height.
#[test]
fn long_chains_are_read_as_manifests_and_as_plans() {
    let chains = [
        format!("$x = 1{}", " + 1".repeat(100_000)),
        format!("$x = $y{}", ".map |$a| { $a }".repeat(100_000)),
        format!("$x = $y{}", "[1]".repeat(100_000)),
    ];
    for code in chains {
        for tasks in [false, true] {
            let options = SyntaxOptions {
                tasks,
                ..SyntaxOptions::default()
            };
            let parsed = read_as(&code, options);
            assert_eq!(errors(&parsed), [""; 0], "{}", &code[..20]);
        }
    }
}
