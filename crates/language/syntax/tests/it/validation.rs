//! Well-formed code that is refused, and code that is accepted: Puppet's wording, positions and
//! order.

use syntax::DiagnosticSeverity;
use syntax::defaults::MAX_TOKENS;

use crate::{at, errors, read};

/// Each source with all messages of Puppet 7.23 with `strict=error`.
const CASES: &[(&str, &[&str])] = &[
    (
        "$a = 1 + 2\n1 + 2\nnotice('x')",
        &[
            "2:3 This '+' expression has no effect. A value was produced and then forgotten (one or more preceding expressions may have the wrong form)",
        ],
    ),
    (
        "class a { 1 }",
        &[
            "1:11 This Literal Integer has no effect. A Host Class Definition can not end with a value-producing expression without other effect",
        ],
    ),
    (
        "define a { $x == 1 }",
        &[
            "1:15 This '==' expression has no effect. A 'define' expression can not end with a value-producing expression without other effect",
        ],
    ),
    (
        "node a { 'x' }",
        &[
            "1:10 This String has no effect. A Node Definition can not end with a value-producing expression without other effect",
        ],
    ),
    (
        "if true { class a { } }",
        &[
            "1:11 Classes, definitions, and nodes may only appear at toplevel or inside other classes",
        ],
    ),
    (
        "class a { function b { 1 } }",
        &["1:11 A Function Definition may only appear at toplevel"],
    ),
    (
        "function a { class b { } }",
        &[
            "1:14 Classes, definitions, and nodes may only appear at toplevel or inside other classes",
        ],
    ),
    ("class a { class b { define c { } } }", &[]),
    (
        "[1].each |$x| { class a { } }",
        &[
            "1:17 Classes, definitions, and nodes may only appear at toplevel or inside other classes",
        ],
    ),
    (
        "$x = class a { }",
        &[
            "1:6 Invalid use of expression. A Host Class Definition does not produce a value",
            "1:6 Classes, definitions, and nodes may only appear at toplevel or inside other classes",
        ],
    ),
    (
        "$x = File <| |>",
        &["1:6 Invalid use of expression. A Virtual Query does not produce a value"],
    ),
    (
        "$h = { a => 1, 'a' => 2 }",
        &["1:20 The key 'a' is declared more than once"],
    ),
    (
        "class a($x, $x) { }",
        &["1:13 The parameter 'x' is declared more than once in the parameter list"],
    ),
    (
        "class a($title) { }",
        &["1:9 The parameter $title redefines a built in parameter in the Host Class Definition"],
    ),
    (
        "class a(*$x) { }",
        &["1:10 Parameter $x has 'captures rest' - not supported in a Host Class Definition"],
    ),
    (
        "f() |*$a, $b| { }",
        &["1:7 Parameter $a is not last, and has 'captures rest'"],
    ),
    (
        "class String { }",
        &[
            "1:1 Unacceptable name. The name 'String' is unacceptable as the name of a Host Class Definition",
        ],
    ),
    (
        "class string { }",
        &[
            "1:1 The name: 'string' is already defined by Puppet and can not be used as the name of a Host Class Definition.",
        ],
    ),
    (
        "define a-b { }",
        &[
            "1:1 Unacceptable name. The name 'a-b' is unacceptable as the name of a 'define' expression",
        ],
    ),
    ("type a = Integer", &["1:6 Syntax error at 'a'"]),
    (
        "type A = [1]",
        &[
            "1:10 Illegal expression. An Array Expression is unacceptable as a type reference in a Type Alias",
        ],
    ),
    (
        "$A = 1",
        &[
            "1:1 Illegal variable name, The given name 'A' does not conform to the naming rule /^((::)?[a-z]\\w*)*((::)?[a-z_]\\w*)$/",
        ],
    ),
    (
        "$a::b = 1",
        &[
            "1:1 Illegal attempt to assign to 'a::b'. Cannot assign to variables in other namespaces",
        ],
    ),
    (
        "$1 = 1",
        &[
            "1:1 Illegal attempt to assign to the numeric match result variable '$1'. Numeric variables are not assignable",
        ],
    ),
    (
        "$x[1] = 2",
        &["1:1 Illegal attempt to assign via [index/key]. Not an assignable reference"],
    ),
    (
        "'a' = 1",
        &["1:1 Illegal attempt to assign to 'a String'. Not an assignable reference"],
    ),
    (
        "$x += 1",
        &[
            "1:4 The operator '+=' is no longer supported. See http://links.puppet.com/remove-plus-equals",
        ],
    ),
    (
        "file { 'a': mode +> 1 }",
        &[
            "1:13 Illegal +> operation on attribute mode. This operator can not be used in a Resource Instance Definition",
        ],
    ),
    (
        "File { mode +> 1 }",
        &[
            "1:8 Illegal +> operation on attribute mode. This operator can not be used in a Resource Defaults Expression",
        ],
    ),
    (
        "file { 'a': * => $x, * => $y }",
        &["1:22 Unfolding of attributes from Hash can only be used once per resource body"],
    ),
    ("@class { 'a': }", &["1:1 Classes are not virtualizable"]),
    (
        "@File { mode => 1 }",
        &["1:1 Resource Defaults are not virtualizable"],
    ),
    (
        "file { mode => 1 }",
        &[
            "1:1 This expression is invalid. Did you try declaring a 'file' resource without a title?",
        ],
    ),
    (
        "case 1 { default: { } default: { } }",
        &["1:23 This 'case' statement already has a 'default' entry - this is a duplicate"],
    ),
    (
        "$x = 1 ? { default => 1, default => 2 }",
        &["1:26 This Selector Expression already has a 'default' entry - this is a duplicate"],
    ),
    (
        "node 'a$b' { }",
        &[
            "1:6 The hostname 'a$b' contains illegal characters (only letters, digits, '_', '-', and '.' are allowed)",
        ],
    ),
    (
        "node \"a${b}\" { }",
        &["1:10 An interpolated expression is not allowed in a hostname of a node"],
    ),
    (
        "node a inherits b { }",
        &[
            "1:17 Node inheritance is not supported in Puppet >= 4.0.0. See http://links.puppet.com/puppet-node-inheritance-deprecation",
        ],
    ),
    (
        "File <| mode > 1 |>",
        &["1:14 Illegal query expression. A '>' expression cannot be used in a query"],
    ),
    (
        "file <| |>",
        &["1:1 Illegal expression. A Name is unacceptable as type name in a Virtual Query"],
    ),
    (
        "f(1)(2)",
        &[
            "1:1 Illegal expression. A Function Call is unacceptable as function name in a Function Call",
        ],
    ),
    (
        "private",
        &["1:1 Use of reserved word: private, must be quoted if intended to be a String value"],
    ),
    ("class a($x = $y = 1) { }", &["1:17 Syntax error at '='"]),
    (
        "class a($x = f($y = 1)) { }",
        &["1:19 Assignment not allowed here"],
    ),
    (
        "class a($1) { }",
        &[
            "1:9 The numeric parameter name '$1' cannot be used (clashes with numeric match result variables)",
            "1:9 Illegal parameter name. The given name '1' does not conform to the naming rule /^[a-z_]\\w*$/",
        ],
    ),
    (
        "$x = 9223372036854775808",
        &[
            "1:6 A Literal Integer resulted in a value outside of Puppet Integer max range, got '+0x8000000000000000'",
        ],
    ),
    (
        "$x = -9223372036854775808",
        &[
            "1:7 A Literal Integer resulted in a value outside of Puppet Integer max range, got '+0x8000000000000000'",
        ],
    ),
    (
        "type A inherits B { }",
        &["1:1 Expressions of type a Type Definition are not supported in this version of Puppet"],
    ),
    (
        "type Runtime['ruby', 'x'] = [1]",
        &["1:6 Illegal type mapping. Expected a Type on the left side, got A Type Mapping"],
    ),
    (
        "$y = \"${3.0}\"",
        &[
            "1:9 Illegal numeric variable name, The given name '3.0' must be a decimal value if it starts with a digit 0-9",
        ],
    ),
    (
        "function a() >> String { 'x' }\ntype B = Integer\ndefine c() { }",
        &[],
    ),
    (
        "$x = @(END:pp)\n  class {\n  | END",
        &[
            "2:1 Invalid produced text having syntax: 'pp'. PP syntax checker: \"Syntax error at end of input\"",
        ],
    ),
    (
        "foo { a => 1 }",
        &[
            "1:1 This expression is invalid. Did you try declaring a 'foo' resource without a title?",
        ],
    ),
    ("notice { a => 1 }", &[]),
    (
        "$x = '''\n'",
        &["2:2 Unclosed quote after \"'\" followed by '<eof>'"],
    ),
    (
        "$x = \"a\"b\"\n\"",
        &[
            "1:9 This Name has no effect. A value was produced and then forgotten (one or more preceding expressions may have the wrong form)",
        ],
    ),
    ("$x = @(E/n)\n  a\\\n  |- E", &[]),
    ("$x = @(\"E\")\n  ${a\n  | E", &[]),
];

/// Keys that Puppet 8 considers equal: `%` is the key, twice in one hash. Each with the key as its
/// message shows it.
const EQUAL_KEYS: &[(&str, &str)] = &[
    ("a", "a"),
    ("-1", "-1"),
    ("1e20", "1.0e+20"),
    ("undef", ""),
    ("/a\\/b/", "(?-mix:a\\/b)"),
    ("Integer", "integer"),
    ("::Foo", "::foo"),
    ("Optional[a]", "[\"a\"]"),
    ("$facts['x']", "[\"x\"]"),
    (
        "[1, undef, default, /x/, true, -1.5, 'a\"b', Foo]",
        "[1, nil, :default, /x/, true, -1.5, \"a\\\"b\", \"foo\"]",
    ),
    ("{b => [2], a => {}}", "{\"b\"=>[2], \"a\"=>{}}"),
];

#[test]
fn keys_are_equal_as_puppet_8_says() {
    for (key, shown) in EQUAL_KEYS {
        let parsed = read(&format!("$x = {{ {key} => 1, {key} => 2 }}"));
        let column = 16 + 2 * key.chars().count();
        assert_eq!(
            errors(&parsed),
            [format!(
                "1:{column} The key '{shown}' is declared more than once"
            )],
        );
    }
    // one is not known, one is a list in brackets, the types differ
    for keys in [
        ["(1)", "(1)"],
        ["$x", "$x"],
        ["Optional[[a]]", "Optional[[a]]"],
        ["1", "1.0"],
        ["[1, 2]", "[2, 1]"],
        ["{a => 1}", "{a => 2}"],
    ] {
        let parsed = read(&format!("$x = {{ {} => 1, {} => 2 }}", keys[0], keys[1]));
        assert!(errors(&parsed).is_empty(), "{keys:?}");
    }
    let other_order = read("$x = { {a => 1, b => 2} => 1, {b => 2, a => 1} => 2 }");
    assert_eq!(errors(&other_order).len(), 1);
    let struct_keys = read("type A = Struct[{Optional[a] => Integer, NotUndef[a] => String}]");
    assert_eq!(errors(&struct_keys).len(), 1);
}

#[test]
fn the_key_of_a_message_is_cut() {
    let key = format!("[{}]", "aaaaaaaa, ".repeat(100_000));
    let parsed = read(&format!("$x = {{ {key} => 1, {key} => 2 }}"));
    let errors = errors(&parsed);
    assert_eq!(errors.len(), 1);
    assert!(errors[0].len() < 2_000, "{}", errors[0].len());
    let deep = format!("{}1{}", "[".repeat(1_500), "]".repeat(1_500));
    let parsed = read(&format!("$x = {{ {deep} => 1, {deep} => 2 }}"));
    assert_eq!(parsed.diagnostics.len(), 1);
}

#[test]
fn a_source_with_too_many_tokens_is_refused_where_they_end() {
    for part in ["1+", "#\n", "a "] {
        let code = part.repeat(MAX_TOKENS);
        let parsed = read(&code);
        let errors = errors(&parsed);
        assert_eq!(errors.len(), 1, "{part}");
        assert!(
            errors[0].contains("has more than 4000000 tokens and comments"),
            "{errors:?}"
        );
        assert!(parsed.ast.is_empty());
    }
}

/// The type of a class's parameter, and the column where Puppet 8 reports it as deprecated.
const PARAMETER_TYPES: &[(&str, Option<u32>)] = &[
    ("Integer[-1]", None),
    ("Struct[{a => 1, b => Enum[x]}]", None),
    ("Foo::Bar[[x], y]", None),
    ("Optional[[String]]", Some(28)),
    ("Enum[$y]", Some(18)),
    ("Integer[1 + 2]", Some(24)),
    ("Integer[(1)]", Some(22)),
    ("Pattern[/a/, \"b${c}\"]", Some(31)),
    ("Struct[{a => 1, b => $c}]", Some(35)),
    ("Type[Foo[[1]]]", Some(24)),
    ("Enum[f(1)]", Some(20)),
];

#[test]
fn types_of_parameters_are_literals() {
    for (ty, column) in PARAMETER_TYPES {
        let parsed = read(&format!("class a({ty} $x) {{ }}"));
        let found: Vec<_> = parsed
            .diagnostics
            .iter()
            .map(|it| at(&parsed, it))
            .collect();
        let expected: Vec<_> = column
            .iter()
            .map(|column| {
                format!(
                    "1:{column} The parameter '$x' must be a literal type, not a \
                     Puppet::Pops::Model::AccessExpression"
                )
            })
            .collect();
        assert_eq!(found, expected, "{ty}");
        let deprecations = parsed.diagnostics.iter();
        assert!(
            deprecations
                .map(|it| it.severity)
                .all(|it| it == DiagnosticSeverity::Deprecation)
        );
    }
    // only classes are checked
    for other in [
        "define a(Enum[$y] $x) { }",
        "function a(Enum[$y] $x) { $x }",
    ] {
        assert!(read(other).diagnostics.is_empty(), "{other}");
    }
}

#[test]
fn puppets_checks_are_made() {
    for (code, expected) in CASES {
        assert_eq!(errors(&read(code)), *expected, "{code}");
    }
}
