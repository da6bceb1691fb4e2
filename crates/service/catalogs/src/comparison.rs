//! Comparison of two catalogs: [`compare_catalogs`].
//!
//! Invariant: version, uuid and code id are no differences, tags are sets, and a difference has no
//! value of a sensitive parameter.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

/// Differences of two catalogs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CatalogDifference {
    /// References to resources that only the second catalog has.
    pub added: Vec<String>,
    /// References to resources that only the first catalog has.
    pub removed: Vec<String>,
    pub changed: Vec<ResourceDifference>,
    /// Edges that only one catalog has, as `+ A -> B` and `- A -> B`.
    pub edges: Vec<String>,
}

/// Attributes of a resource that differ.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceDifference {
    pub reference: String,
    /// Name of the attribute, its value in the first and in the second catalog; `null` if it is not
    /// set, `"Sensitive"` if it is a sensitive parameter.
    pub attributes: Vec<(String, Json, Json)>,
}

impl CatalogDifference {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.removed.is_empty()
            && self.changed.is_empty()
            && self.edges.is_empty()
    }
}

/// Compares two catalog documents.
#[must_use]
pub fn compare_catalogs(first: &Json, second: &Json) -> CatalogDifference {
    let (before, after) = (resources(first), resources(second));
    let mut difference = CatalogDifference::default();
    for (reference, resource) in &before {
        match after.get(reference) {
            None => difference.removed.push(reference.clone()),
            Some(other) => {
                let attributes = changed_attributes(resource, other);
                if !attributes.is_empty() {
                    difference.changed.push(ResourceDifference {
                        reference: reference.clone(),
                        attributes,
                    });
                }
            }
        }
    }
    let new = after.keys().filter(|it| !before.contains_key(*it));
    difference.added.extend(new.cloned());
    let (old, new) = (edges(first), edges(second));
    difference
        .edges
        .extend(old.difference(&new).map(|edge| format!("- {edge}")));
    difference
        .edges
        .extend(new.difference(&old).map(|edge| format!("+ {edge}")));
    difference
}

fn resources(catalog: &Json) -> Map<String, Json> {
    let resources = catalog["resources"].as_array().into_iter().flatten();
    resources
        .map(|resource| {
            let part = |key: &str| resource[key].as_str().unwrap_or_default().to_owned();
            (
                format!("{}[{}]", part("type"), part("title")),
                resource.clone(),
            )
        })
        .collect()
}

fn edges(catalog: &Json) -> BTreeSet<String> {
    let edges = catalog["edges"].as_array().into_iter().flatten();
    edges
        .map(|edge| {
            let part = |key: &str| edge[key].as_str().unwrap_or_default().to_owned();
            format!("{} -> {}", part("source"), part("target"))
        })
        .collect()
}

fn changed_attributes(first: &Json, second: &Json) -> Vec<(String, Json, Json)> {
    let none = Map::new();
    let (before, after) = (
        first["parameters"].as_object().unwrap_or(&none),
        second["parameters"].as_object().unwrap_or(&none),
    );
    let mut sensitive = as_set(&first["sensitive_parameters"]);
    sensitive.extend(as_set(&second["sensitive_parameters"]));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut changed: Vec<(String, Json, Json)> = names
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name))
        .map(|name| {
            let value = |map: &Map<String, Json>| match map.get(name) {
                Some(_) if sensitive.contains(&Json::from(name.as_str()).to_string()) => {
                    Json::from("Sensitive")
                }
                value => value.cloned().unwrap_or_default(),
            };
            (name.clone(), value(before), value(after))
        })
        .collect();
    for key in ["tags", "exported", "sensitive_parameters"] {
        let (a, b) = (as_set(&first[key]), as_set(&second[key]));
        if a != b {
            changed.push((key.to_owned(), first[key].clone(), second[key].clone()));
        }
    }
    changed
}

fn as_set(value: &Json) -> BTreeSet<String> {
    match value {
        Json::Array(values) => values.iter().map(ToString::to_string).collect(),
        Json::Null => BTreeSet::new(),
        other => BTreeSet::from([other.to_string()]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::compare_catalogs;

    #[test]
    fn differences_have_their_resources_and_attributes() {
        let file = |mode: &str, tags: &[&str]| json!({"type": "File", "title": "/a", "tags": tags, "parameters": {"mode": mode}});
        let first = json!({"version": 1, "resources": [file("0644", &["a", "b"]), {"type": "User", "title": "x"}], "edges": []});
        let second = json!({"version": 2, "resources": [file("0600", &["b", "a"]), {"type": "User", "title": "y"}], "edges": [{"source": "A", "target": "B"}]});
        let found = compare_catalogs(&first, &second);
        assert_eq!(found.added, ["User[y]"]);
        assert_eq!(found.removed, ["User[x]"]);
        assert_eq!(found.changed[0].reference, "File[/a]");
        assert_eq!(
            found.changed[0].attributes,
            [("mode".to_owned(), json!("0644"), json!("0600"))]
        );
        assert_eq!(found.edges, ["+ A -> B"]);
        assert!(compare_catalogs(&first, &first).is_empty());
    }

    #[test]
    fn values_of_sensitive_parameters_are_not_shown() {
        let user = |password: &str| {
            json!({"resources": [{"type": "User", "title": "x", "parameters": {"password": password},
                   "sensitive_parameters": ["password"]}]})
        };
        let found = compare_catalogs(&user("a"), &user("b"));
        let hidden = (
            "password".to_owned(),
            json!("Sensitive"),
            json!("Sensitive"),
        );
        assert_eq!(found.changed[0].attributes, [hidden]);
    }
}
