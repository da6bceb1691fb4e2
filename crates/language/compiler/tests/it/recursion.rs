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
