//! Operators, variables, control flow, blocks. Every expected result is that of real Puppet.

use crate::world::all;

#[test]
fn operators() {
    all(&[
        ("1 + 2 * 3", "7"),
        ("-7 / 2", "-4"),
        ("-7 % 3", "2"),
        ("7 % -3", "-2"),
        ("1 + 1.5", "2.5"),
        ("1 << 4", "16"),
        ("-1 >> 1", "-1"),
        ("[1, 2] + 3", "[1, 2, 3]"),
        ("[1, 2] + {a => 1}", "[1, 2, ['a', 1]]"),
        ("[1, 2] << [3]", "[1, 2, [3]]"),
        ("[1, 2, 1] - 1", "[2]"),
        ("{a => 1, b => 2} + {a => 3}", "{'a' => 3, 'b' => 2}"),
        ("{a => 1} + [b, 2]", "{'a' => 1, 'b' => 2}"),
        ("{a => 1, b => 2} - b", "{'a' => 1}"),
        ("'A' == 'a'", "true"),
        ("'É' == 'é'", "false"),
        ("'1' == 1", "false"),
        ("1 == 1.0", "true"),
        ("undef == ''", "false"),
        ("'a' < 'B'", "true"),
        ("Integer <= Numeric", "true"),
        ("'b' in 'ABC'", "true"),
        ("'A' in [a]", "true"),
        ("/b/ in [abc]", "true"),
        ("Integer in [a, 1]", "true"),
        ("a in {'A' => 1}", "true"),
        ("1 and ''", "true"),
        ("!undef", "true"),
        ("[*[1, 2], *undef, *{a => 1}]", "[1, 2, ['a', 1]]"),
        ("\"a${[1, {b => undef}]}c\"", "'a[1, {b => }]c'"),
    ]);
}

#[test]
fn variables_and_destructuring() {
    all(&[
        ("$a = $b = 1\n$a + $b", "2"),
        ("[$a, [$b, $c]] = [1, [2, 3]]\n[$c, $b, $a]", "[3, 2, 1]"),
        ("[$x, $y] = {y => 1, x => 2}\n[$x, $y]", "[2, 1]"),
        ("$x = 1\nwith() || { $y = $x; $x = 2; [$y, $x] }", "[1, 2]"),
        (
            "$x = 1\n[1, 2].map |$i| { if $i == 2 { $x = 9 }; $x }",
            "[1, 9]",
        ),
        (
            "[1, 2].map |$x| { [3].map |$y| { \"${x}${y}\" } }",
            "[['13'], ['23']]",
        ),
    ]);
}

#[test]
fn matches_belong_to_the_statement_they_are_made_in() {
    all(&[
        ("if 'abc' =~ /(b)(c)/ { \"$0 $2 $1\" }", "'bc c b'"),
        ("if 'abc' =~ /(b)/ { }\n$1", "undef"),
        ("'abc' =~ /(b)/\n'abc' =~ /(x)/\n$1", "'b'"),
        ("case 'x1' { /x(\\d)/: { $1 } default: { 0 } }", "'1'"),
        (
            "$r = 'x1' ? { /y/ => 1, /x(\\d)/ => $1 }\n[$r, $1]",
            "['1', undef]",
        ),
        ("function f() { $1 }\nif 'a' =~ /(a)/ { f() }", "undef"),
        ("if 'a' =~ /(a)/ { [1].map |$x| { $1 } }", "['a']"),
    ]);
}

#[test]
fn choices() {
    all(&[
        ("case 3 { default: { d } Integer[3, 4]: { i } }", "'i'"),
        ("case 'B' { a, b: { 1 } default: { 2 } }", "1"),
        (
            "case [1, 'x'] { [Integer, /x/]: { y } default: { n } }",
            "'y'",
        ),
        (
            "case {a => 1, b => 2} { {a => 1}: { y } default: { n } }",
            "'y'",
        ),
        ("case 2 { *[1, 2]: { y } default: { n } }", "'y'"),
        ("case 9 { 1: { } }", "undef"),
        ("unless false { 1 } else { 2 }", "1"),
        ("$x = if false { 1 }\n$x", "undef"),
    ]);
}

#[test]
fn blocks_and_jumps() {
    all(&[
        (
            "[1, 2, 3].map |$x| { if $x == 2 { next(9) }; $x }",
            "[1, 9, 3]",
        ),
        (
            "[1, 2, 3].each |$x| { if $x == 2 { break() } }",
            "[1, 2, 3]",
        ),
        (
            "[1, 2, 3].map |$x| { if $x == 3 { break() }; $x }",
            "[1, 2]",
        ),
        (
            "[1, 2, 3].reduce |$m, $x| { if $x == 3 { break() }; $m + $x }",
            "3",
        ),
        (
            "function f() { [1, 2].each |$x| { return($x) }\n 9 }\nf()",
            "1",
        ),
        ("function f($x) { next($x + 1)\n 9 }\nf(1)", "2"),
        ("[[1, 2]].map |$a, $b| { [$a, $b] }", "[[0, [1, 2]]]"),
        ("{a => 1}.map |$e| { $e }", "[['a', 1]]"),
        ("{a => 1}.map |$k, $v| { \"$k$v\" }", "['a1']"),
        ("with(1, 2, 3) |$a, *$b| { [$a, $b] }", "[1, [2, 3]]"),
        ("with(1) |$a, $b = $a + 1| { [$a, $b] }", "[1, 2]"),
        ("with() |Integer *$a| { $a }", "[]"),
    ]);
}

#[test]
fn functions_see_the_top_scope_and_their_parameters() {
    all(&[
        (
            "$g = 1\nfunction f(Integer $a, $b = $a + $g) >> Integer { $a + $b }\nf(2)",
            "5",
        ),
        ("function f(*$r) { $r }\nf(1, 2)", "[1, 2]"),
        (
            "function f($n) { if $n == 0 { 0 } else { 1 + f($n - 1) } }\nf(50)",
            "50",
        ),
        ("function f($x) { $x }\n3.f", "3"),
        (
            "type Small = Integer[0, 9]\n[5 =~ Small, 10 =~ Small]",
            "[true, false]",
        ),
        (
            "type Tree = Variant[Integer, Array[Tree]]\n[[1, [2]] =~ Tree, [a] =~ Tree]",
            "[true, false]",
        ),
    ]);
}

#[test]
fn access() {
    all(&[
        ("[1, 2, 3][-1]", "3"),
        ("[1, 2, 3][1, 2]", "[2, 3]"),
        ("[1, 2, 3, 4][1, -2]", "[2, 3]"),
        ("[1, 2][5]", "undef"),
        ("'abc'[1]", "'b'"),
        ("'abc'[-2, 2]", "'bc'"),
        ("'abc'[9]", "''"),
        ("{a => 1, b => 2}[a]", "1"),
        ("{a => 1, b => 2}[a, c, b]", "[1, 2]"),
        ("Integer[1, 3]", "Integer[1, 3]"),
        ("Array[String[1], 1, 2]", "Array[String[1], 1, 2]"),
        (
            "Struct[{a => Integer, Optional[b] => String}]",
            "Struct[{'a' => Integer, Optional['b'] => String}]",
        ),
        ("File['/a', '/b']", "[File['/a'], File['/b']]"),
        ("Resource[file, '/a']", "File['/a']"),
        ("Class['::Foo::Bar']", "Class[foo::bar]"),
        ("Callable[[Integer], String]", "Callable[[Integer], String]"),
    ]);
}
