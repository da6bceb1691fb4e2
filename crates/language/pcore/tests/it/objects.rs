//! Object types and their instances.

use std::sync::Arc;

use pcore::{Hash, ObjectTypeDefinition, Type, Value, new_instance};

use super::value;

fn object(name: &str, init: &str) -> Result<Arc<ObjectTypeDefinition>, String> {
    object_with(name, init, &|_| None)
}

fn object_with(
    name: &str,
    init: &str,
    lookup: &dyn Fn(&str) -> Option<Type>,
) -> Result<Arc<ObjectTypeDefinition>, String> {
    let object = ObjectTypeDefinition::declare(Some(name.into()));
    let init = match value_with(init, lookup) {
        Value::Hash(init) => init,
        other => panic!("{other} is no hash"),
    };
    object
        .define(&init)
        .map_err(|error| error.to_string())
        .map(|()| object)
}

fn value_with(text: &str, lookup: &dyn Fn(&str) -> Option<Type>) -> Value {
    Value::parse_literal(text, lookup).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn make(object: &Arc<ObjectTypeDefinition>, arguments: &str) -> Result<Value, String> {
    let arguments = value(&format!("[{arguments}]"));
    new_instance(&object.clone().into(), arguments.as_array().unwrap())
        .map_err(|error| error.to_string())
}

const POINT: &str = "{attributes => {x => Integer, y => {type => Integer, value => 7}}}";

#[test]
fn instances_by_place_and_by_hash() {
    let point = object("Point", POINT).unwrap();
    let by_place = make(&point, "1").unwrap();
    let by_hash = make(&point, "{'x' => 1, 'y' => 7}").unwrap();
    assert!(by_place.equals(&by_hash));
    assert!(!by_place.equals(&make(&point, "2").unwrap()));
    assert_eq!(by_place.to_string(), "Point({'x' => 1})");
    let attribute = |name| by_place.as_object().unwrap().attribute(name);
    assert_eq!(attribute("y"), Some(Value::Int(7)));
    assert_eq!(attribute("z"), None);
    assert!(Type::from(point.clone()).is_instance(&by_place));
    assert_eq!(
        make(&point, "'a'").unwrap_err(),
        "The function 'new_Point' was called with arguments it does not accept. It expects one of:\n  \
         (Struct[{'x' => Integer, Optional['y'] => Integer}] hash)\n    \
         rejected: parameter 'hash' expects a Struct value, got String\n  \
         (Integer x, Integer y?)\n    \
         rejected: parameter 'x' expects an Integer value, got String"
    );
}

#[test]
fn inherited_attributes_come_first_and_constants_are_not_given() {
    let point = object("Point", POINT).unwrap();
    let lookup = |name: &str| (name == "Point").then(|| Type::from(point.clone()));
    let init = "{parent => Point, attributes => {z => Integer}, constants => {unit => 'm'}}";
    let space = object_with("Space", init, &lookup).unwrap();
    let made = make(&space, "1, 2").unwrap();
    assert_eq!(made.to_string(), "Space({'x' => 1, 'z' => 2})");
    let unit = made.as_object().unwrap().attribute("unit");
    assert_eq!(unit, Some(Value::from("m")));
    assert!(Type::from(point.clone()).is_assignable(&space.clone().into()));
    assert!(!Type::from(space).is_assignable(&point.into()));
}

#[test]
fn what_does_not_fit_the_parent_is_refused() {
    let point = object("Point", POINT).unwrap();
    let lookup = |name: &str| (name == "Point").then(|| Type::from(point.clone()));
    let cases = [
        (
            "{parent => Point, attributes => {x => Integer}}",
            "attribute Sub[x] attempts to override attribute Point[x] without having override => true",
        ),
        (
            "{parent => Point, attributes => {x => {type => String, override => true}}}",
            "attribute Sub[x] attempts to override attribute Point[x] with a type that does not match",
        ),
        (
            "{attributes => {q => {type => Integer, override => true}}}",
            "expected attribute Sub[q] to override an inherited attribute, but no such attribute was found",
        ),
        (
            "{parent => Point, attributes => {q => Integer}, equality => [x]}",
            "Sub equality is referencing attribute Point[x] which is included in equality of Point",
        ),
        (
            "{attributes => {a => {type => Integer, kind => constant}}}",
            "attribute Sub[a] of kind 'constant' requires a value",
        ),
        (
            "{attributes => {a => {type => Integer, value => 'x'}}}",
            "attribute Sub[a] value has wrong type, expects an Integer value, got String",
        ),
        (
            "{foo => 1}",
            "object initializer has wrong type, unrecognized key 'foo'",
        ),
    ];
    for (init, expected) in cases {
        assert_eq!(
            object_with("Sub", init, &lookup).unwrap_err(),
            expected,
            "{init}"
        );
    }
}

#[test]
fn equality_is_by_the_attributes_that_the_type_names() {
    let init = "{attributes => {a => Integer, b => Integer}, equality => [a]}";
    let object = object("Half", init).unwrap();
    let (one, other) = (
        make(&object, "1, 2").unwrap(),
        make(&object, "1, 3").unwrap(),
    );
    assert!(one.equals(&other));
    let mut hash = Hash::new();
    hash.insert(one, 1);
    assert_eq!(hash.get(&other), Some(&Value::Int(1)));
}

#[test]
fn errors_have_type_parameters() {
    let error = new_instance(&Type::error(), &[Value::from("m"), Value::from("k")]).unwrap();
    let of_kind = |kind: &str| super::ty(&format!("Error[{kind}]"));
    assert!(of_kind("'k'").is_instance(&error));
    assert!(!of_kind("'other'").is_instance(&error));
    assert!(of_kind("/^k/").is_instance(&error));
    assert!(of_kind("Pattern[/k/]").is_instance(&error));
    assert_eq!(
        error.as_object().unwrap().call("message", &[]),
        Some(Ok(Value::from("m")))
    );
}
