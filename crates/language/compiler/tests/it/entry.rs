//! Invariant for fuzzing and property tests with arbitrary manifests: no panic, the same result twice,
//! and a document whose edges lie between its resources.

use std::collections::{HashMap, HashSet};

use compiler::{ApplicationGraphRequest, CompilerEnvironment};
use serde_json::Value as Json;

use crate::world;

/// Compiles a manifest without and with applications, and checks the results.
pub(crate) fn manifest(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    drop(compile(&text));
    let with_applications = |text: &str| world::with_applications(text, &[]);
    drop(graph(&with_applications(&text), &text));
    drop(compile_in(with_applications, &text));
}

/// The document of a manifest, or the message of the error.
pub(crate) fn compile(text: &str) -> Result<Json, String> {
    compile_in(world::environment, text)
}

/// The graph of an environment's applications, or the message of the error.
pub(crate) fn graph(environment: &CompilerEnvironment, text: &str) -> Result<Json, String> {
    let compile = || {
        let request = ApplicationGraphRequest::default();
        let graph = compiler::application_graph(environment, &request);
        let graph = graph.map_err(|error| error.to_string())?;
        Ok(serde_json::to_value(&graph).expect("a graph is JSON"))
    };
    let graph = compile();
    assert_eq!(compile(), graph, "{text}");
    graph
}

fn compile_in(world_of: impl Fn(&str) -> CompilerEnvironment, text: &str) -> Result<Json, String> {
    let environment = world_of(text);
    let document = world::compile(&environment, "node");
    assert_eq!(world::compile(&environment, "node"), document, "{text}");
    let fresh = world_of(text);
    assert_eq!(world::compile(&fresh, "node"), document, "{text}");
    let document = serde_json::from_str(&document?).expect("a document is JSON");
    check_edges(&document, text);
    Ok(document)
}

/// Fails if an edge has no resource at an end, or if a resource other than a class has several
/// containers.
pub(crate) fn check_edges(document: &Json, text: &str) {
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
