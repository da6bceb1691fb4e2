//! Classes and defined types that declare themselves or each other.

use crate::world::attack;

#[test]
fn classes_that_inherit_in_a_ring_are_refused() {
    let error = attack("class a inherits b {} class b inherits a {}", "include a");
    assert!(error.unwrap_err().contains("inherits itself"));
}

#[test]
fn a_class_that_includes_itself_is_evaluated_once() {
    assert!(attack("class a { include a }", "include a").is_ok());
}

#[test]
fn a_defined_type_that_declares_itself_ends_at_a_limit() {
    let error = attack(
        "define d($n) { d { \"x${n}\": n => $n + 1 } }",
        "d { 'x': n => 0 }",
    );
    assert!(error.unwrap_err().contains("1000 times"));
}

#[test]
fn thousands_of_classes_that_include_each_other_end_at_a_limit() {
    let classes: String = (0..2_000)
        .map(|n| format!("class c{n} {{ include c{} }}\n", n + 1))
        .collect();
    assert!(attack(&classes, "include c0").is_err());
}

#[test]
fn overrides_of_many_missing_resources_are_one_error() {
    let body = "Integer[1, 2000].each |$n| { Notify[\"n${n}\"] { message => 'x' } }";
    let error = attack("", body).unwrap_err();
    assert!(error.contains("Could not find resource(s)"), "{error:.200}");
}

/// Each of these values grows by a level in each round; a stack that overflows would end the tests.
#[test]
fn values_that_grow_inwards_in_a_loop_end_at_a_limit() {
    for grow in [
        "[$m]",
        "[1, $m, 2]",
        "[[1], $m]",
        "[[1], $m, [2]]",
        "[$m, $m]",
        "{ 'a' => [1], 'b' => $m, 'c' => [2] }",
        "{ [[1], $m] => 1 }",
        "[Sensitive({ $m => Sensitive([1]) })]",
        "Sensitive([[1], $m, [2]])",
        "[1].map |$e| { $m }",
        "{ 'a' => 1 }.map |$k, $v| { [$v, $m, $k] }",
        "[[1], [2]].reduce |$a, $b| { [$a, $m, $b] }",
        "{ 'a' => 1 }.reduce({}) |$a, $b| { { 'x' => [1], 'y' => $m, 'z' => [1] } }",
        "[[1]] + [$m] + [[2]]",
        "[[1]] << $m << [2]",
        "{ 'a' => [1] } + { 'b' => $m } + { 'c' => [2] }",
        "Deferred('f', [[1], $m, [2]])",
        "Tuple[Integer, $m, String]",
        "Struct[{ 'a' => Integer, 'b' => $m, 'c' => String }]",
        "Callable[Integer, $m, String]",
        "[1, $m].slice(2)",
        "[[1], $m, [2]].reverse_each",
        "{ 'a' => [1], 'b' => $m }.reverse_each",
        "[$m, [1], [2]].step(2)",
    ] {
        let begin = match grow.contains("m, String]") || grow.starts_with("Struct") {
            true => "Integer",
            false => "0",
        };
        let body = format!("$r = Integer[1, 100000].reduce({begin}) |$m, $x| {{ {grow} }}");
        let error = attack("", &body).expect_err(grow);
        assert!(
            error.contains("deep inside each other"),
            "{grow}: {error:.200}"
        );
    }
}
