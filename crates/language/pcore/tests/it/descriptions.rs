//! Descriptions of mismatches, in Puppet's wording.

use pcore::{CallSignature, CallableType, Hash, StructElement, Type, TypeKind, Value};

use super::{ty, value};

fn describe(expected: &str, given: &str) -> String {
    pcore::describe_mismatch("x", &ty(expected), &Type::infer_detailed(&value(given)))
}

#[test]
fn mismatches_of_one_value() {
    let cases = [
        (
            "Array[String]",
            "['a', 1]",
            "x index 1 expects a String value, got Integer",
        ),
        (
            "Integer[0, 5]",
            "7",
            "x expects an Integer[0, 5] value, got Integer[7, 7]",
        ),
        ("String[1]", "''", "x expects a String[1] value, got String"),
        (
            "Enum['a', 'b']",
            "'c'",
            "x expects a match for Enum['a', 'b'], got 'c'",
        ),
        (
            "Optional[Enum['a']]",
            "1",
            "x expects an undef value or a match for Enum['a'], got Integer",
        ),
        (
            "Variant[Integer, Float]",
            "'a'",
            "x expects a value of type Integer or Float, got String",
        ),
        (
            "Variant[Integer, Float, Boolean]",
            "'a'",
            "x expects a value of type Integer, Float, or Boolean, got String",
        ),
        (
            "Optional[Integer]",
            "'a'",
            "x expects a value of type Undef or Integer, got String",
        ),
        (
            "Struct[{a => Integer}]",
            "{}",
            "x expects size to be 1, got 0",
        ),
        (
            "Struct[{a => Integer, b => Integer}]",
            "{'a' => 1, 'c' => 2}",
            " x expects a value for key 'b'\n  x unrecognized key 'c'",
        ),
        (
            "Struct[{a => Integer}]",
            "{'a' => 'x'}",
            "x entry 'a' expects an Integer value, got String",
        ),
        (
            "Hash[String, Integer]",
            "{'a' => 1, 'b' => 'c'}",
            "x entry 'b' expects an Integer value, got String",
        ),
        (
            "Array[Integer, 2]",
            "[1]",
            "x expects size to be at least 2, got 1",
        ),
        (
            "Tuple[Integer, String]",
            "[1, 2]",
            "x index 1 expects a String value, got Integer",
        ),
        (
            "Type[Integer]",
            "String",
            "x expects a Type[Integer] value, got Type[String]",
        ),
        (
            "Foo::Bar",
            "1",
            "x references an unresolved type 'Foo::Bar'",
        ),
        ("Array", "1", "x expects an Array value, got Integer"),
    ];
    for (expected, given, text) in cases {
        assert_eq!(describe(expected, given), text);
    }
}

#[test]
fn several_mismatches_make_several_lines() {
    assert_eq!(
        describe("Array[String]", "[1, 'a', 2.5]"),
        " x index 0 expects a String value, got Integer\n  x index 2 expects a String value, got Float"
    );
}

fn signature(callable: &str, names: &[&str]) -> CallSignature {
    let ty = ty(callable);
    let TypeKind::Callable(callable) = ty.kind() else {
        panic!("{ty} is no Callable");
    };
    let callable: &CallableType = callable;
    CallSignature {
        callable: callable.clone(),
        parameter_names: names.iter().map(|name| (*name).into()).collect(),
        block_name: "block".into(),
    }
}

fn call(signatures: &[CallSignature], arguments: &str) -> String {
    let arguments = value(arguments);
    let types: Vec<Type> = arguments
        .as_array()
        .unwrap()
        .iter()
        .map(Type::infer_detailed)
        .collect();
    pcore::describe_call("f", signatures, &types)
}

#[test]
fn calls_that_no_signature_takes() {
    let one = [signature("Callable[String, Integer, 1, 2]", &["a", "b"])];
    assert_eq!(
        call(&one, "[1]"),
        "'f' parameter 'a' expects a String value, got Integer"
    );
    assert_eq!(
        call(&one, "[]"),
        "'f' expects between 1 and 2 arguments, got none"
    );
    assert_eq!(
        call(&one, "['a', 1, 2]"),
        "'f' expects between 1 and 2 arguments, got 3"
    );
    let two = [
        signature("Callable[String]", &["a"]),
        signature("Callable[Integer, String]", &["a", "b"]),
    ];
    assert_eq!(
        call(&two, "[undef]"),
        "The function 'f' was called with arguments it does not accept. It expects one of:\n  \
         (String a)\n    rejected: parameter 'a' expects a String value, got Undef\n  \
         (Integer a, String b)\n    rejected: expects 2 arguments, got 1"
    );
    let block = [signature("Callable[String, Callable]", &["a"])];
    assert_eq!(call(&block, "['a']"), "'f' expects a block");
}

#[test]
fn parameters_of_classes_and_tasks() {
    let parameters = [
        StructElement::new("name", false, ty("String[1]")),
        StructElement::new("port", true, ty("Integer")),
    ];
    let check = |given: &[(&str, Value)]| {
        let given: Hash = given.iter().cloned().collect();
        pcore::describe_parameters("Class[Foo]", &parameters, &given, false, |_| false)
            .map_err(|error| error.to_string())
    };
    assert_eq!(check(&[("name", Value::from("x"))]), Ok(()));
    assert_eq!(
        check(&[]),
        Err("Class[Foo]: expects a value for parameter 'name'".to_owned())
    );
    assert_eq!(
        check(&[("name", Value::from("x")), ("prot", Value::Int(1))]),
        Err("Class[Foo]: has no parameter named 'prot'".to_owned())
    );
    assert_eq!(
        check(&[("name", Value::Int(1)), ("port", Value::from("x"))]),
        Err(
            "Class[Foo]:\n  parameter 'name' expects a String value, got Integer\n  \
             parameter 'port' expects an Integer value, got String"
                .to_owned()
        )
    );
}
