//! Relationships of a catalog: [`CatalogEdges`].
//!
//! A catalog has edges of containment only; the others are made from the parameters `before`,
//! `require`, `notify` and `subscribe`. Invariant: both ends of an edge are resources of the
//! catalog, under their titles. PuppetDB refuses a catalog otherwise.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

/// Type and title of a resource.
type ResourceSpec = (String, String);

/// Parameter, `true` if its resource comes first, and PuppetDB's name of the relationship.
const RELATIONSHIPS: [(&str, bool, &str); 4] = [
    ("before", true, "before"),
    ("require", false, "required-by"),
    ("notify", true, "notifies"),
    ("subscribe", false, "subscription-of"),
];

/// Parameters that are other names of a resource.
const NAMES: [&str; 3] = ["alias", "name", "path"];

/// The edges of a catalog, each once.
#[derive(Debug, Default)]
pub(super) struct CatalogEdges {
    /// The title by type and title or other name.
    titles: HashMap<ResourceSpec, String>,
    known: HashSet<(ResourceSpec, ResourceSpec, &'static str)>,
    edges: Vec<Value>,
}

// === impl CatalogEdges ===

impl CatalogEdges {
    /// `resources`: all resources of the catalog.
    pub(super) fn new(resources: &[Value]) -> Self {
        let mut edges = Self::default();
        for resource in resources {
            if let Some((kind, title)) = spec(resource) {
                let names = NAMES
                    .iter()
                    .filter_map(|key| resource.get("parameters")?.get(*key));
                for name in names.flat_map(texts) {
                    let name = comparable_title(&kind, name);
                    edges
                        .titles
                        .entry((kind.clone(), name))
                        .or_insert_with(|| title.clone());
                }
            }
        }
        // A title counts more than another resource's other name.
        for (kind, title) in resources.iter().filter_map(spec) {
            let name = comparable_title(&kind, &title);
            edges.titles.insert((kind, name), title);
        }
        edges
    }

    /// Adds an edge of containment, as the catalog has it.
    pub(super) fn add_containment(&mut self, edge: &Value) {
        let end = |key: &str| match edge.get(key)? {
            Value::String(reference) => parse_reference(reference),
            spec_of_end => spec(spec_of_end),
        };
        if let (Some(source), Some(target)) = (end("source"), end("target")) {
            self.add(source, target, "contains");
        }
    }

    /// Adds the relationships in the parameters of a resource.
    pub(super) fn add_relationships(&mut self, resource: &Value) {
        let Some(own) = spec(resource) else { return };
        for (parameter, is_first, relationship) in RELATIONSHIPS {
            let Some(value) = resource.get("parameters").and_then(|it| it.get(parameter)) else {
                continue;
            };
            for other in texts(value).into_iter().filter_map(parse_reference) {
                match is_first {
                    true => self.add(own.clone(), other, relationship),
                    false => self.add(other, own.clone(), relationship),
                }
            }
        }
    }

    fn add(&mut self, source: ResourceSpec, target: ResourceSpec, relationship: &'static str) {
        let (Some(source), Some(target)) = (self.resolve(source), self.resolve(target)) else {
            return;
        };
        let edge = (source, target, relationship);
        if self.known.contains(&edge) {
            return;
        }
        let to_json = |(kind, title): &ResourceSpec| json!({"type": kind, "title": title});
        self.edges.push(json!({
            "source": to_json(&edge.0),
            "target": to_json(&edge.1),
            "relationship": relationship,
        }));
        self.known.insert(edge);
    }

    /// The resource under its title; `None` if the catalog does not have it.
    fn resolve(&self, (kind, name): ResourceSpec) -> Option<ResourceSpec> {
        let name = comparable_title(&kind, &name);
        let key = (kind, name);
        let title = self.titles.get(&key)?.clone();
        Some((key.0, title))
    }

    pub(super) fn into_edges(self) -> Vec<Value> {
        self.edges
    }
}

fn spec(resource: &Value) -> Option<ResourceSpec> {
    let text = |key: &str| Some(resource.get(key)?.as_str()?.to_owned());
    Some((text("type")?, text("title")?))
}

/// Files are the same with and without slashes at their end.
fn comparable_title(kind: &str, title: &str) -> String {
    match kind {
        "File" if title.len() > 1 => title.trim_end_matches('/').to_owned(),
        _ => title.to_owned(),
    }
}

/// `Type[title]`.
fn parse_reference(reference: &str) -> Option<ResourceSpec> {
    let (kind, title) = reference.split_once('[')?;
    Some((kind.to_owned(), title.strip_suffix(']')?.to_owned()))
}

/// The strings of a value and of its lists.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}
