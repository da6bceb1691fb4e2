//! Functions, types and templates of an environment and its modules.

use evaluator::CodeMap;

use crate::world::run;

fn code() -> CodeMap {
    CodeMap::new()
        .with("functions/envfn.pp", *b"function envfn($x) { $x + 1 }")
        .with(
            "functions/environment/deep.pp",
            *b"function environment::deep() { 'deep' }",
        )
        .with("types/small.pp", *b"type Small = Integer[0, 9]")
        .with("modules/a/functions/init.pp", *b"function a() { 'init' }")
        .with("modules/a/functions/f.pp", *b"function a::f() { b::g() }")
        .with("modules/a/functions/h.pp", *b"function a::h() { c::g() }")
        .with(
            "modules/a/functions/wrong.pp",
            *b"function a::other() { 1 }",
        )
        .with(
            "modules/a/functions/more.pp",
            *b"function a::more() { 1 }\nnotice(1)",
        )
        .with(
            "modules/a/types/port.pp",
            *b"type A::Port = Variant[Small, Integer[1000]]",
        )
        .with(
            "modules/a/templates/t.epp",
            *b"<%- | Integer $n | -%>\n<%= $n %>-<%= $g %>",
        )
        .with("modules/a/files/x.txt", *b"text")
        .with("modules/b/functions/g.pp", *b"function b::g() { 'from b' }")
        .with("modules/c/functions/g.pp", *b"function c::g() { 'from c' }")
        .with_dependencies("a", &["b"])
}

fn value(program: &str) -> String {
    match run(code(), program) {
        Ok(value) => value,
        Err(error) => error.to_string(),
    }
}

#[test]
fn names_lead_to_files() {
    assert_eq!(value("envfn(1)"), "2");
    assert_eq!(value("environment::deep()"), "'deep'");
    assert_eq!(value("a()"), "'init'");
    assert_eq!(value("a::f()"), "'from b'");
    assert_eq!(
        value("[5 =~ Small, 5 =~ A::Port, 50 =~ A::Port]"),
        "[true, true, false]"
    );
    for name in ["a/x.txt", "a//x.txt"] {
        assert_eq!(value(&format!("file('{name}')")), "'text'");
    }
    for name in ["a/x.txt/", "a//", "a/../x.txt", "/a/x.txt", "//x.txt"] {
        assert_eq!(value(&format!("find_file('{name}')")), "undef", "{name}");
    }
}

#[test]
fn a_module_sees_the_modules_that_it_names() {
    assert_eq!(
        value("a::h()"),
        "Evaluation Error: Unknown function: 'c::g'. (file: modules/a/functions/h.pp, line: 1, column: 19)"
    );
    assert_eq!(value("c::g()"), "'from c'");
}

#[test]
fn a_file_has_its_own_function_and_nothing_else() {
    assert_eq!(
        value("a::wrong()"),
        "Evaluation Error: Error while evaluating a Function Call, The code loaded from modules/a/functions/wrong.pp produced function with the wrong name, expected a::wrong, actual a::other (file: case.pp, line: 1, column: 1)"
    );
    assert!(value("a::more()").contains("contains additional logic"));
}

#[test]
fn templates_see_their_parameters_and_the_top_scope() {
    assert_eq!(value("$g = 'top'\nepp('a/t', {n => 3})"), "'3-top'");
    let missing = value("$g = 1\nepp('a/t')");
    assert!(
        missing.contains("expects a value for parameter 'n'"),
        "{missing}"
    );
    let wrong = value("$g = 1\nepp('a/t', {n => 1, m => 2})");
    assert!(wrong.contains("has no parameter named 'm'"), "{wrong}");
    assert!(value("epp('a/../files/x.txt')").contains("Could not find template"));
}
