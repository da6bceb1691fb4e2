//! The forms of a lookup.

use pcore::{Hash, Type, Value};

use hiera::{LookupExplainer, LookupRequest, LookupTrail};

use crate::world::World;

const CONFIG: &str = "version: 5\nhierarchy:\n  - {name: a, path: '%{role}.yaml'}\n  \
                      - {name: b, path: common.yaml}\n";

fn world() -> World {
    let mut world = World::of(&[
        ("hiera.yaml", CONFIG),
        ("data/web.yaml", "k: web\nh: {a: 1}\n"),
        ("data/db.yaml", "k: db\n"),
        (
            "data/common.yaml",
            "lookup_options:\n  hex: {convert_to: [Integer, 16]}\n  '^deep': {merge: deep}\n\
             h: {b: 2}\nhex: ff\nsame: '%{lookup(\"k\")}'\n",
        ),
    ]);
    world.set("role", "web");
    world
}

#[test]
fn names_types_overrides_and_defaults() {
    let mut world = world();
    let names = ["nope".to_owned(), "k".to_owned()];
    let mut request = LookupRequest {
        names: &names,
        ..LookupRequest::default()
    };
    let session = world.session();
    let mut lookup =
        |request: &LookupRequest<'_>| session.lookup(&mut world, request, &LookupTrail::new());
    assert_eq!(lookup(&request).unwrap(), Some(Value::from("web")));
    request.overrides = [("k", 1)]
        .into_iter()
        .map(|(k, v)| (k, Value::Int(v)))
        .collect();
    assert_eq!(lookup(&request).unwrap(), Some(Value::Int(1)));
    request.overrides = Hash::new();
    let integer = Type::integer();
    request.value_type = Some(&integer);
    assert_eq!(
        lookup(&request).unwrap_err().to_string(),
        "Found value has wrong type, expects an Integer value, got String"
    );
    let names = ["nope".to_owned()];
    request.names = &names;
    request.default = Some(Value::from("x"));
    assert_eq!(
        lookup(&request).unwrap_err().to_string(),
        "Default value has wrong type, expects an Integer value, got String"
    );
    request.defaults = [("nope", Value::Int(7))].into_iter().collect();
    assert_eq!(lookup(&request).unwrap(), Some(Value::Int(7)));
}

#[test]
fn values_are_converted() {
    assert_eq!(world().lookup("hex").unwrap(), Some(Value::Int(255)));
}

#[test]
fn the_hierarchy_follows_its_variables() {
    let mut world = world();
    let names = ["same".to_owned()];
    let request = LookupRequest {
        names: &names,
        ..LookupRequest::default()
    };
    let session = world.session();
    let found = session
        .lookup(&mut world, &request, &LookupTrail::new())
        .unwrap();
    assert_eq!(found, Some(Value::from("web")));
    world.set("role", "db");
    let trail = LookupTrail::with_explainer(LookupExplainer::default());
    let found = session.lookup(&mut world, &request, &trail);
    assert_eq!(found.unwrap(), Some(Value::from("db")));
    assert!(
        trail
            .explanation()
            .contains("Hiera configuration recreated")
    );
}

#[test]
fn explanations_tell_where_a_value_came_from() {
    let mut world = world();
    let names = ["k".to_owned()];
    let request = LookupRequest {
        names: &names,
        ..LookupRequest::default()
    };
    let trail = LookupTrail::with_explainer(LookupExplainer::default());
    let session = world.session();
    session.lookup(&mut world, &request, &trail).unwrap();
    let told = trail.explanation();
    let expected = "Searching for \"k\"\n  Environment Data Provider (hiera configuration version \
                    5)\n    Using configuration \"/env/hiera.yaml\"\n    Hierarchy entry \"a\"\n      \
                    Path \"/env/data/web.yaml\"\n        Original path: \"%{role}.yaml\"\n        \
                    Found key: \"k\" value: \"web\"\n";
    assert!(told.ends_with(expected), "{told}");
}
