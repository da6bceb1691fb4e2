//! Invariant for fuzzing and property tests with arbitrary manifests: no panic, the same result twice,
//! and a document whose edges lie between its resources.

use std::collections::{HashMap, HashSet};

use serde_json::Value as Json;

use crate::world;

/// Compiles a manifest and checks the result.
pub(crate) fn manifest(data: &[u8]) {
    drop(compile(&String::from_utf8_lossy(data)));
}

/// The document of a manifest, or the message of the error.
pub(crate) fn compile(text: &str) -> Result<Json, String> {
    let environment = world::environment(text);
    let document = world::compile(&environment, "node");
    assert_eq!(world::compile(&environment, "node"), document, "{text}");
    let fresh = world::environment(text);
    assert_eq!(world::compile(&fresh, "node"), document, "{text}");
    let document = serde_json::from_str(&document?).expect("a document is JSON");
    check_edges(&document, text);
    Ok(document)
}

/// Fails if an edge has no resource at an end, or if a resource other than a class has several
/// containers.
fn check_edges(document: &Json, text: &str) {
    let list = |key| document[key].as_array().expect("a list").iter();
    let word = |value: &Json| value.as_str().expect("a text").to_owned();
    let names =
        list("resources").map(|it| format!("{}[{}]", word(&it["type"]), word(&it["title"])));
    let mut resources = HashSet::new();
    for name in names {
        assert!(resources.insert(name.clone()), "{name} twice in {text}");
    }
    let mut containers = HashMap::new();
    for edge in list("edges") {
        let (source, target) = (word(&edge["source"]), word(&edge["target"]));
        for end in [&source, &target] {
            assert!(resources.contains(end), "no {end} in {text}");
        }
        let former = containers.insert(target.clone(), source);
        let is_one = former.is_none() || target.starts_with("Class[");
        assert!(is_one, "two containers of {target} in {text}");
    }
    for name in &resources {
        check_containment(name, &containers, text);
    }
}

/// Fails if a resource contains itself, unless classes that contain each other do so.
fn check_containment(name: &str, containers: &HashMap<String, String>, text: &str) {
    let mut passed = HashSet::new();
    let mut at = name;
    while let Some(container) = containers.get(at) {
        if !passed.insert(at) {
            assert!(at.starts_with("Class["), "{name} contains itself in {text}");
            return;
        }
        at = container;
    }
}
